import { useEffect, useState } from "react";
import type { FieldProblem } from "../api/call";
import { isEqual, type Answer, type Decision, type Json, type JsonObject, type Request } from "../api/types";
import { useSession } from "../api/session";
import { isUnread } from "../form/number-text";
import { initialAnswer, renderedFields } from "../form/schema-field";
import { answerOf, fieldProblems, initialValues, type Values } from "../form/values";
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

function initialDraft(request: Request): Draft {
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

const maxDrafts = 50;
const root = "ringi.draft/";

interface StoredDraft {
  at: number;
  draft: Draft;
  /** The typed text, for places where the request itself is not available. */
  words: string;
}

/** The owner of a draft. Two people who share a browser never see each other's drafts. */
interface Owner {
  tenant: string;
  name: string;
}

export function useOwner(): Owner {
  const session = useSession().data;
  return { tenant: session?.tenant ?? "", name: session?.name ?? "" };
}

const part = encodeURIComponent;
const idPrefix = (owner: Owner, id: string) => `${root}${part(owner.tenant)}/${part(owner.name)}/${part(id)}/`;
const keyOf = (owner: Owner, request: Request) => idPrefix(owner, request.id) + part(request.digest);

function read(key: string): StoredDraft | null {
  try {
    const stored = JSON.parse(window.localStorage.getItem(key) ?? "null") as StoredDraft | null;
    return typeof stored?.at === "number" && typeof stored.draft === "object" ? stored : null;
  } catch {
    return null;
  }
}

function keysWith(prefix: string): string[] {
  try {
    return Object.keys(window.localStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}

export function removeDraft(key: string): void {
  try {
    window.localStorage.removeItem(key);
  } catch {
    // Without storage there is nothing to remove.
  }
}

function dropOldest(): void {
  const drafts = keysWith(root).map((key) => ({ key, at: read(key)?.at ?? 0 }));
  drafts.sort((one, other) => other.at - one.at);
  for (const { key } of drafts.slice(maxDrafts)) removeDraft(key);
}

function write(key: string, stored: StoredDraft): void {
  try {
    const isNew = window.localStorage.getItem(key) === null;
    window.localStorage.setItem(key, JSON.stringify(stored));
    if (isNew) dropOldest();
  } catch {
    // If the storage is full or blocked, the draft is lost on reload; typing must still work.
  }
}

/** Modes that are restored after a reload; all others restart at "deciding". */
const restoredModes = new Set<string>(["editing", "rejecting", "asking"]);

function save(owner: Owner, request: Request, draft: Draft): void {
  const key = keyOf(owner, request);
  const saved = { ...draft, mode: restoredModes.has(draft.mode) ? draft.mode : "deciding" } as const;
  if (isEqual({ ...saved, mode: "deciding" }, initialDraft(request))) removeDraft(key);
  else write(key, { at: Date.now(), draft: saved, words: draftText(request, draft) });
}

/** Keep this person's draft for this version of a request across reloads. */
export function useDraft(request: Request, owner: Owner): [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => ({ ...initialDraft(request), ...read(keyOf(owner, request))?.draft }));
  const { tenant, name } = owner;
  useEffect(() => save({ tenant, name }, request, draft), [tenant, name, request, draft]);
  return [draft, (change) => setDraft((old) => ({ ...old, ...change }))];
}

export function dropDraft(owner: Owner, request: Request): void {
  removeDraft(keyOf(owner, request));
}

/** Remove all drafts for a request, whether they were sent or not. */
export function dropAllDrafts(owner: Owner, id: string): void {
  for (const key of keysWith(idPrefix(owner, id))) removeDraft(key);
}

interface UnsentDraft {
  key: string;
  text: string;
}

/** Return the drafts for a request that were never sent, without the one that fills the form of `current`. */
export function unsentDrafts(owner: Owner, id: string, current?: Request): UnsentDraft[] {
  return keysWith(idPrefix(owner, id)).filter((key) => !current || key !== keyOf(owner, current)).flatMap((key) => {
    const text = read(key)?.words;
    return text ? [{ key, text }] : [];
  });
}
