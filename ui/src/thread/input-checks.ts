import type { FieldProblem } from "../api/call";
import type { Json, JsonObject } from "../api/types";
import { inexactNumber, parseExact } from "../form/exact-json";
import { isUnread, lossText } from "../form/number-text";
import type { Values } from "../form/values";
import type { Strings } from "../strings";
import type { RequestStrings } from "../strings/detail";
import { isObject, WHOLE_INPUT, type InputField } from "./input-form";

const isEmpty = (value: Json | undefined) =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

type Check = (value: number, bound: number) => boolean;

const bounds: [key: string, isFine: Check, message: (strings: Strings) => (bound: string) => string][] = [
  ["minimum", (value, bound) => value >= bound, (strings) => strings.atLeast],
  ["maximum", (value, bound) => value <= bound, (strings) => strings.atMost],
  ["exclusiveMinimum", (value, bound) => value > bound, (strings) => strings.moreThan],
  ["exclusiveMaximum", (value, bound) => value < bound, (strings) => strings.lessThan],
];

function numberProblem(value: number, schema: JsonObject, strings: Strings): string | undefined {
  if (schema.type === "integer" && !Number.isInteger(value)) return strings.wholeNumber;
  const broken = bounds.find(([key, isFine]) => typeof schema[key] === "number" && !isFine(value, schema[key]));
  return broken && broken[2](strings)(String(schema[broken[0]]));
}

function textProblem(value: string, schema: JsonObject, strings: Strings): string | undefined {
  // JSON Schema counts characters, not the halves of those beyond the first 65,536.
  const length = [...value].length;
  if (typeof schema.minLength === "number" && length < schema.minLength) return strings.inputTooShort(schema.minLength);
  if (typeof schema.maxLength === "number" && length > schema.maxLength) return strings.inputTooLong(schema.maxLength);
  return undefined;
}

function problemWith({ field, schema, isJson }: InputField, value: Json | undefined, strings: RequestStrings): string | undefined {
  if (isEmpty(value)) return field.required ? strings.requiredField : undefined;
  if (isJson) return jsonProblem(field.name, String(value), strings);
  if (isUnread(value)) return strings.cannotBeSent;
  if (typeof value === "number") return numberProblem(value, schema, strings);
  return typeof value === "string" ? textProblem(value, schema, strings) : undefined;
}

const isValid = (name: string, value: Json | undefined) => (name === WHOLE_INPUT ? isObject(value) : value !== undefined);

function jsonProblem(name: string, text: string, strings: RequestStrings): string | undefined {
  if (isValid(name, parseExact(text))) return undefined;
  const inexact = inexactNumber(text);
  return (inexact && lossText(inexact.reading, strings)) ?? strings.invalidJsonInput;
}

/** Return the problems that the page can find before starting; the server checks all other rules. */
export function inputProblems(fields: InputField[], values: Values, strings: RequestStrings): FieldProblem[] {
  return fields.flatMap((one) => {
    const message = problemWith(one, values[one.field.name], strings);
    return message === undefined ? [] : [{ field: one.field.name, message }];
  });
}

/** Return the input to send, without empty values. */
export function inputOf(fields: InputField[], values: Values): JsonObject {
  const whole = fields.find(({ field, isJson }) => isJson && field.name === WHOLE_INPUT) && parseExact(String(values[WHOLE_INPUT]));
  if (isObject(whole)) return whole;
  const input: JsonObject = {};
  for (const { field: { name }, isJson } of fields) {
    const raw = values[name];
    const value = isJson ? parseExact(String(raw)) : raw;
    if (!isEmpty(raw) && value !== undefined) input[name] = value;
  }
  return input;
}
