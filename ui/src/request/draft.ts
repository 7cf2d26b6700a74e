import type { FieldProblem } from "../api/call";
import type { Answer, Decision, Json, JsonObject, Request } from "../api/types";
import { isUnread } from "../form/number-text";
import { initialAnswer, renderedFields } from "../form/schema-field";
import { answerOf, fieldProblems, initialValues, type Values } from "../form/values";
import { isEqual } from "../api/json";
import type { RequestStrings } from "../strings/detail";
import { answersJson, editableValues, isFollowUpAllowed, isFreeAnswer, isYesNo, takesMessageAsAnswer } from "./decisions";
import { grantOf, initialGrant, type GrantChoice } from "./granting";

/** The step that is open: the decision itself, or the last step before it is sent. */
export type Mode = "deciding" | "editing" | "rejecting" | "asking" | "confirming" | "reassigning" | "overriding" | "granting";

/** Everything that a person typed about one request, as plain JSON so that it can be stored. */
export interface Draft {
  mode: Mode;
  values: Values;
  /** Edited arguments or task; an undefined value cannot be sent. */
  edited: Values;
  json: Json;
  /** Texts that are not valid JSON (yet), by the key of their editor. */
  broken: { readonly [key: string]: string };
  message: string;
  reason: string;
  /** True if a plain interrupt is answered with JSON instead of text. */
  asJson?: boolean;
  /** The reason of an administrator who decides alone. */
  override?: string;
  /** The later calls that are approved too. */
  grant?: GrantChoice;
}

export function initialDraft(request: Request): Draft {
  return {
    mode: "deciding",
    values: initialValues(renderedFields(request)),
    edited: editableValues(request) ?? {},
    json: answersJson(request) ? initialAnswer(request.schema) : {},
    broken: {},
    message: "",
    reason: "",
  };
}

/** Return whether the answer would contain neither a message nor form values. */
export const lacksMessage = (request: Request, draft: Draft) =>
  !(draft.asJson && isFreeAnswer(request)) && !draft.message.trim() && (isFollowUpAllowed(request) || renderedFields(request).length === 0);

function dataOf(request: Request, draft: Draft): Json | undefined {
  if (isYesNo(request)) return undefined;
  if (answersJson(request)) return draft.json;
  return request.form || request.schema ? answerOf(renderedFields(request), draft.values) : undefined;
}

export function isEdited(request: Request, draft: Draft): boolean {
  return !isEqual(editableValues(request) ?? {}, draft.edited) || Object.keys(draft.broken).some((key) => key !== "data");
}

/** Return whether "edit" has a change to send: a changed argument, or a changed value of a plain form. */
export function isChanged(request: Request, draft: Draft): boolean {
  if (editableValues(request)) return isEdited(request, draft);
  const fields = renderedFields(request);
  if (answersJson(request)) return !isEqual(draft.json, initialAnswer(request.schema));
  return !isEqual(answerOf(fields, draft.values), answerOf(fields, initialValues(fields)));
}

/** Return the answer; with the reason of an administrator who decides alone, or with the later calls approved too. */
export function answerFor(request: Request, draft: Draft, decision: Decision): Answer {
  const answer = plainAnswer(request, draft, decision);
  if (draft.mode === "granting") return { ...answer, grant: grantOf(request, draft.grant ?? initialGrant(request), Date.now()) };
  return draft.mode === "overriding" ? { ...answer, override: (draft.override ?? "").trim() } : answer;
}

function plainAnswer(request: Request, draft: Draft, decision: Decision): Answer {
  if (decision === "reject") return { decision, ...(draft.reason.trim() && { message: draft.reason }) };
  // A follow-up message leaves the form out: an incomplete form would be refused.
  if (decision === "respond" && isFollowUpAllowed(request)) return { decision, message: draft.message };
  if (decision === "respond" && isFreeAnswer(request) && draft.asJson) return { decision, data: { answer: draft.json } };
  const answer: Answer = { decision };
  const data = dataOf(request, draft);
  if (data !== undefined) answer.data = data;
  if (decision === "respond") answer.message = draft.message;
  if (decision !== "edit" || !editableValues(request)) return answer;
  const edited = draft.edited as JsonObject;
  return request.action ? { ...answer, args: edited } : { ...answer, data: edited };
}

/** Return the name that the server uses for an edited value in its field errors. */
export const editKey = (request: Request, name: string) => (request.action ? `args.${name}` : name);

/** Return the problems that the page can find before sending; the server checks all other rules. */
export function findLocalProblems(request: Request, draft: Draft, decision: Decision, strings: RequestStrings): FieldProblem[] {
  if (decision === "reject") return [];
  const isMessageMissing = decision === "respond" && lacksMessage(request, draft);
  const messages = isMessageMissing ? [{ field: "message", message: strings.requiredField }] : [];
  if (decision === "respond" && isFollowUpAllowed(request)) return messages;
  const fields = fieldProblems(renderedFields(request), draft.values, strings);
  const sendsJson = !isFreeAnswer(request) || (decision === "respond" && draft.asJson);
  const json = sendsJson && "data" in draft.broken ? [{ field: "data", message: strings.cannotBeSent }] : [];
  const edits = decision === "edit" ? brokenEdits(request, draft, strings) : [];
  return [...fields, ...messages, ...json, ...edits];
}

function brokenEdits(request: Request, draft: Draft, strings: RequestStrings): FieldProblem[] {
  return Object.keys(editableValues(request) ?? {})
    .filter((name) => draft.edited[name] === undefined || editKey(request, name) in draft.broken)
    .map((name) => ({ field: editKey(request, name), message: strings.cannotBeSent }));
}

/** Return the keys at which a problem can be shown now. */
export function keysOf(request: Request, draft: Draft): string[] {
  const keys = renderedFields(request).map((field) => field.name);
  if (answersJson(request) || (isFreeAnswer(request) && draft.asJson)) keys.push("data");
  if (draft.mode === "editing") keys.push(...Object.keys(draft.edited).map((name) => editKey(request, name)));
  if (draft.mode === "rejecting" || draft.mode === "asking" || takesMessageAsAnswer(request)) keys.push("message");
  return keys;
}

/** Return the typed text of a draft, so that a person can copy it. */
export function draftText(request: Request, draft: Draft): string {
  const initial = initialDraft(request);
  const changed = ({ values, edited }: Draft) => Object.entries({ ...values, ...edited });
  const before = Object.fromEntries(changed(initial));
  const lines = changed(draft).filter(([name, value]) => value !== undefined && !isEqual(value, before[name]))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : isUnread(value) ? value.unread : JSON.stringify(value)}`);
  const json = isEqual(draft.json, initial.json) ? "" : JSON.stringify(draft.json, null, 2);
  const texts = [draft.reason, draft.message, draft.override ?? "", ...Object.values(draft.broken), json, ...lines];
  return texts.filter((text) => text.trim()).join("\n");
}
