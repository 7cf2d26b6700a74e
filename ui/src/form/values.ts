import type { FieldProblem } from "../api/call";
import { isObject, type FormField, type Json, type JsonObject, type Request } from "../api/types";
import type { AttachedFile } from "../api/schema";
import { formatBytes } from "../base/numbers";
import type { RequestStrings } from "../strings/detail";
import { isUnread } from "./number-text";

export type Values = { readonly [name: string]: Json | undefined };

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

export function fieldsOf(request: Request): FormField[] {
  return request.form?.fields ?? [];
}

export function initialValues(fields: FormField[]): Values {
  return Object.fromEntries(fields.map((field) => [field.name, field.default ?? undefined]));
}

/** Return the values that a form sends: in field order, without empty ones. */
export function answerOf(fields: FormField[], values: Values): JsonObject {
  const answer: JsonObject = {};
  for (const { name } of fields) {
    const value = values[name];
    if (value !== undefined && !isEmpty(value)) answer[name] = value;
  }
  return answer;
}

/** Return the problems of a form that the page can find before sending: what is missing, and what is not one value yet. */
export function fieldProblems(fields: FormField[], values: Values, strings: Pick<RequestStrings, "requiredField" | "cannotBeSent">): FieldProblem[] {
  return fields.flatMap(({ name, type, required }): FieldProblem[] => {
    const value = values[name];
    if (required && isEmpty(value)) return [{ field: name, message: strings.requiredField }];
    const isPartial = (type === "attachment" && isUploading(value)) || (type === "number" && isUnread(value));
    return isPartial ? [{ field: name, message: strings.cannotBeSent }] : [];
  });
}

/** Return the message for a field, including errors inside its nested values. */
export function messageAt(problems: FieldProblem[], key: string): string | undefined {
  const isAt = (field: string) => field === key || field.startsWith(`${key}.`) || field.startsWith(`${key}[`);
  return problems.find(({ field }) => isAt(field))?.message;
}

/** Return the message for a value with parts; one of a part says which. */
export function messageWithin(problems: FieldProblem[], key: string): string | undefined {
  const found = problems.find((problem) => messageAt([problem], key));
  return found && (found.field === key ? found.message : `${found.field.slice(key.length).replace(/^\./, "")}: ${found.message}`);
}

export function isFile(value: Json | undefined): value is AttachedFile & { [key: string]: Json } {
  return isObject(value) && typeof value.sha256 === "string" && typeof value.number === "number"
    && typeof value.name === "string" && typeof value.size === "number" && typeof value.media_type === "string";
}

/** The value of a field while its file is uploading; it cannot be sent. */
export const uploadInProgress = (name: string) => ({ uploading: name });
export const isUploading = (value: Json | undefined) => isObject(value) && "uploading" in value;

export const formatSize = (bytes: number, { language }: RequestStrings) => formatBytes(bytes, language);
