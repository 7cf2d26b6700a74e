import { useState } from "react";
import type { Answer, Decision, Json, JsonObject, Request } from "../api/types";
import type { FieldProblem } from "../api/call";
import type { Strings } from "../strings";
import { answerOf, editableOf, fieldsOf, initialValues, missing, same, type Values } from "./values";

/** Everything a person has typed about one request; plain JSON. `undefined` in `edited` is a value that cannot be sent. */
export interface Draft {
  mode: "deciding" | "editing" | "rejecting";
  values: Values;
  json: Json | undefined;
  message: string;
  reason: string;
  edited: Values;
}

export function freshDraft(request: Request): Draft {
  return {
    mode: "deciding",
    values: initialValues(fieldsOf(request)),
    json: {},
    message: "",
    reason: "",
    edited: editableOf(request) ?? {},
  };
}

export function useDraft(request: Request): [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => freshDraft(request));
  return [draft, (change) => setDraft((old) => ({ ...old, ...change }))];
}

export const answersJson = (request: Request) => Boolean(request.schema && !request.form);

function dataOf(request: Request, draft: Draft): Json | undefined {
  if (request.form) return answerOf(fieldsOf(request), draft.values);
  return answersJson(request) ? draft.json : undefined;
}

/** Whether "edit" has something to say: a changed argument, or a changed answer of a plain form. */
export function isChanged(request: Request, draft: Draft): boolean {
  const editable = editableOf(request);
  if (editable) return !same(editable, draft.edited);
  const fields = fieldsOf(request);
  if (answersJson(request)) return !same(draft.json, {});
  return !same(answerOf(fields, draft.values), answerOf(fields, initialValues(fields)));
}

export function answerFor(request: Request, draft: Draft, decision: Decision): Answer {
  if (decision === "reject") return { decision, ...(draft.reason.trim() && { message: draft.reason }) };
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
export function localProblems(request: Request, draft: Draft, decision: Decision, strings: Strings): FieldProblem[] {
  if (decision === "reject") return [];
  const fields = missing(fieldsOf(request), draft.values);
  if (decision === "respond" && !draft.message.trim() && !request.form) fields.push("message");
  const problems = fields.map((field) => ({ field, message: strings.requiredField }));
  if (answersJson(request) && draft.json === undefined) problems.push({ field: "data", message: strings.notSendable });
  return decision === "edit" ? [...problems, ...brokenEdits(request, draft, strings)] : problems;
}

function brokenEdits(request: Request, draft: Draft, strings: Strings): FieldProblem[] {
  return Object.keys(editableOf(request) ?? {})
    .filter((name) => draft.edited[name] === undefined)
    .map((name) => ({ field: editKey(request, name), message: strings.notSendable }));
}

/** Return the message at a field; an error inside a nested value belongs to the field that shows it. */
export function messageAt(problems: FieldProblem[], key: string): string | undefined {
  return problems.find(({ field }) => field === key || field.startsWith(`${key}.`) || field.startsWith(`${key}[`))?.message;
}

/** The keys at which a problem can be shown now. */
export function keysOf(request: Request, draft: Draft): string[] {
  const keys = fieldsOf(request).map((field) => field.name);
  if (answersJson(request)) keys.push("data");
  if (draft.mode === "editing") keys.push(...Object.keys(draft.edited).map((name) => editKey(request, name)));
  if (draft.mode === "rejecting" || request.allowed.includes("respond")) keys.push("message");
  return keys;
}
