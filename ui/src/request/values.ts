import type { FormField, Json, JsonObject, Request } from "../api/types";

export type Values = { readonly [name: string]: Json | undefined };

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

export function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
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

export function missingFields(fields: FormField[], values: Values): string[] {
  return fields.filter((field) => field.required && isEmpty(values[field.name])).map((field) => field.name);
}

/** Return the values that "edit" opens: arguments or task; null for a plain form, which is edited in place. */
export function editableValues(request: Request): JsonObject | null {
  if (request.action) return request.action.args;
  if (request.kind === "finish") return { task: request.context?.task ?? "" };
  return null;
}

/** Return whether the answer allows something to run. */
export const allowsExecution = (request: Request) =>
  Boolean(request.action) || ["approval", "finish", "learning"].includes(request.kind);
