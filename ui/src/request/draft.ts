import type { FieldProblem } from "../api/call";
import type { Answer, Decision, Json, JsonObject, Request } from "../api/types";
import { isOnItsWay } from "./files";
import { isFree, isPlain, isYesNo, offered } from "./plain";
import { drawnFields } from "./schema-field";
import { answerOf, editableOf, initialValues, missing, same, type Values } from "./values";
import type { Words } from "./words";

/** Which step is open: the decision itself, or the last one before it is sent. */
export type Mode = "deciding" | "editing" | "rejecting" | "asking" | "naming" | "passing";

/** Everything a person has typed about one request; plain JSON, so that it can be kept. */
export interface Draft {
  mode: Mode;
  values: Values;
  /** Arguments or task in edit; what is missing here cannot be sent. */
  edited: Values;
  json: Json;
  /** Texts that are no JSON (yet), by the key of their editor. */
  broken: { readonly [key: string]: string };
  message: string;
  reason: string;
  /** Whether a plain question is answered with JSON in place of words. */
  asJson?: boolean;
}

export function freshDraft(request: Request): Draft {
  return {
    mode: "deciding",
    values: initialValues(drawnFields(request)),
    edited: editableOf(request) ?? {},
    json: {},
    broken: {},
    message: "",
    reason: "",
  };
}

/** Whether only free JSON can say the answer. */
export const answersJson = (request: Request) =>
  Boolean(request.schema) && drawnFields(request).length === 0 && !isYesNo(request);

/** Whether words to the agent are a way beside approving, and not the answer itself. */
export const asksBack = (request: Request) =>
  !isPlain(request) && request.allowed.includes("respond") && request.allowed.includes("approve");

/** Whether the words stand among the fields: they are the answer. */
export const wantsWords = (request: Request) => offered(request).includes("respond") && !asksBack(request);

/** Whether the agent would get neither words nor a form. */
export const lacksWords = (request: Request, draft: Draft) =>
  !(draft.asJson && isFree(request)) && !draft.message.trim() && (asksBack(request) || drawnFields(request).length === 0);

/** Whether there is anything to fill in. */
export const hasAnswer = (request: Request) =>
  drawnFields(request).length > 0 || answersJson(request) || wantsWords(request);

function dataOf(request: Request, draft: Draft): Json | undefined {
  if (isYesNo(request)) return undefined;
  if (answersJson(request)) return draft.json;
  return request.form || request.schema ? answerOf(drawnFields(request), draft.values) : undefined;
}

export function isEdited(request: Request, draft: Draft): boolean {
  return !same(editableOf(request) ?? {}, draft.edited) || Object.keys(draft.broken).some((key) => key !== "data");
}

/** Whether "edit" has something to say: a changed argument, or a changed answer of a plain form. */
export function isChanged(request: Request, draft: Draft): boolean {
  if (editableOf(request)) return isEdited(request, draft);
  const fields = drawnFields(request);
  if (answersJson(request)) return !same(draft.json, {});
  return !same(answerOf(fields, draft.values), answerOf(fields, initialValues(fields)));
}

export function answerFor(request: Request, draft: Draft, decision: Decision): Answer {
  if (decision === "reject") return { decision, ...(draft.reason.trim() && { message: draft.reason }) };
  // Words that ask back leave the form unanswered: half of it would be refused.
  if (decision === "respond" && asksBack(request)) return { decision, message: draft.message };
  if (decision === "respond" && isFree(request) && draft.asJson) return { decision, data: { answer: draft.json } };
  const answer: Answer = { decision };
  const data = dataOf(request, draft);
  if (data !== undefined) answer.data = data;
  if (decision === "respond") answer.message = draft.message;
  if (decision !== "edit" || !editableOf(request)) return answer;
  const edited = draft.edited as JsonObject;
  return request.action ? { ...answer, args: edited } : { ...answer, data: edited };
}

/** The name that the server gives to an edited value in its field errors. */
export const editKey = (request: Request, name: string) => (request.action ? `args.${name}` : name);

/** What a person must mend before sending is worth a try; all other rules are the server's. */
export function localProblems(request: Request, draft: Draft, decision: Decision, strings: Words): FieldProblem[] {
  if (decision === "reject") return [];
  const isMute = decision === "respond" && lacksWords(request, draft);
  const words = isMute ? [{ field: "message", message: strings.requiredField }] : [];
  if (decision === "respond" && asksBack(request)) return words;
  const empty = missing(drawnFields(request), draft.values);
  const fields = empty.map((field) => ({ field, message: strings.requiredField }));
  for (const { name, type } of drawnFields(request)) {
    if (type === "attachment" && isOnItsWay(draft.values[name])) fields.push({ field: name, message: strings.notSendable });
  }
  const sendsJson = !isFree(request) || (decision === "respond" && draft.asJson);
  const json = sendsJson && "data" in draft.broken ? [{ field: "data", message: strings.notSendable }] : [];
  const edits = decision === "edit" ? brokenEdits(request, draft, strings) : [];
  return [...fields, ...words, ...json, ...edits];
}

function brokenEdits(request: Request, draft: Draft, strings: Words): FieldProblem[] {
  return Object.keys(editableOf(request) ?? {})
    .filter((name) => draft.edited[name] === undefined || editKey(request, name) in draft.broken)
    .map((name) => ({ field: editKey(request, name), message: strings.notSendable }));
}

/** Return the message at a field; an error inside a nested value belongs to the field that shows it. */
export function messageAt(problems: FieldProblem[], key: string): string | undefined {
  const isAt = (field: string) => field === key || field.startsWith(`${key}.`) || field.startsWith(`${key}[`);
  return problems.find(({ field }) => isAt(field))?.message;
}

/** The keys at which a problem can be shown now. */
export function keysOf(request: Request, draft: Draft): string[] {
  const keys = drawnFields(request).map((field) => field.name);
  if (answersJson(request) || (isFree(request) && draft.asJson)) keys.push("data");
  if (draft.mode === "editing") keys.push(...Object.keys(draft.edited).map((name) => editKey(request, name)));
  if (draft.mode === "rejecting" || draft.mode === "asking" || wantsWords(request)) keys.push("message");
  return keys;
}

/** What was typed about a request, for somebody who wants to copy it. */
export function wordsOf(request: Request, draft: Draft): string {
  const fresh = freshDraft(request);
  const changed = ({ values, edited }: Draft) => Object.entries({ ...values, ...edited });
  const before = Object.fromEntries(changed(fresh));
  const lines = changed(draft).filter(([name, value]) => value !== undefined && !same(value, before[name]))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const json = same(draft.json, fresh.json) ? "" : JSON.stringify(draft.json, null, 2);
  const texts = [draft.reason, draft.message, ...Object.values(draft.broken), json, ...lines];
  return texts.filter((text) => text.trim()).join("\n");
}
