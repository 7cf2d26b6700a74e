import { expect, test } from "vitest";
import type { JsonObject } from "../api/types";
import { en as shell } from "../strings";
import { en as detail } from "../strings/detail";
import { en as history } from "../strings/history";
import { initialValues, type Values } from "../form/values";
import { inputOf, inputProblems, inputFields, WHOLE_INPUT } from "./start-agent";

const en = { ...shell, ...detail, ...history };

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });

const fieldFor = (schema: JsonObject, more: JsonObject = {}) => inputFields(object({ it: schema }, more))[0];

test.each([
  ["a whole number with its bounds", { type: "integer", minimum: 1, maximum: 9 }, { type: "number", min: 1, max: 9, step: 1 }],
  ["a number", { type: "number" }, { type: "number", min: null, max: null }],
  ["a yes or no", { type: "boolean", default: true }, { type: "boolean", default: true }],
  ["a short text", { type: "string", maxLength: 20 }, { type: "text", max_length: 20 }],
  ["a long text", { type: "string", maxLength: 2_000 }, { type: "textarea" }],
  ["a day", { type: "string", format: "date" }, { type: "date" }],
  ["one of some", { enum: ["a", 2] }, { type: "select", options: [{ value: "a", label: "a" }, { value: 2, label: "2" }] }],
  ["some of some", { type: "array", items: { enum: ["a", "b"] } }, { type: "multiselect" }],
  ["or nothing", { anyOf: [{ type: "integer" }, { type: "null" }], title: "Count" }, { type: "number", label: "Count" }],
  ["or nothing, in one word", { type: ["string", "null"] }, { type: "text" }],
  ["named words", { title: "Order", description: "Its number", type: "string" }, { label: "Order", help: "Its number" }],
])("%s has its field", (_name, schema, field) => {
  expect(fieldFor(schema as JsonObject)).toMatchObject({ field, isJson: false });
});

test("a reference to a definition is followed", () => {
  const one = fieldFor({ $ref: "#/$defs/Colour", default: "red" }, { $defs: { Colour: { enum: ["red", "blue"] } } });
  expect(one).toMatchObject({ field: { type: "select", default: "red" }, isJson: false });
});

test.each([
  ["an object", { type: "object" }], ["a list of anything", { type: "array" }], ["no type at all", {}],
  ["one of two types", { type: ["string", "integer"] }], ["an enumeration of lists", { enum: [[1], [2]] }],
])("%s is asked for as JSON", (_name, schema) => {
  expect(fieldFor(schema as JsonObject)).toMatchObject({ field: { type: "textarea" }, isJson: true });
});

test("an agent that names no parts is given the whole input as JSON", () => {
  const fields = inputFields({ type: "object" });
  expect(fields.map(({ field }) => field.name)).toEqual([WHOLE_INPUT]);
  expect(inputOf(fields, { [WHOLE_INPUT]: '{"a": [1]}' })).toEqual({ a: [1] });
});

test("an agent without parts needs no field", () => {
  expect(inputFields(object({}))).toEqual([]);
});

const problem = (schema: JsonObject, value: Values[string], required: string[] = []) =>
  inputProblems(inputFields(object({ it: schema }, { required })), { it: value }, en).map(({ message }) => message)[0];

test.each([
  ["nothing where something is required", { type: "string" }, undefined, ["it"], en.requiredField],
  ["nothing where nothing is required", { type: "string", minLength: 3 }, "", [], undefined],
  ["half a number", { type: "integer" }, 1.5, [], en.wholeNumber],
  ["too little", { type: "number", minimum: 0 }, -1, [], en.atLeast("0")],
  ["the least", { type: "number", minimum: 0 }, 0, ["it"], undefined],
  ["too much", { type: "number", maximum: 5 }, 6, [], en.atMost("5")],
  ["the bound that is left out", { type: "number", exclusiveMinimum: 0 }, 0, [], en.moreThan("0")],
  ["the upper bound that is left out", { type: "number", exclusiveMaximum: 1 }, 1, [], en.lessThan("1")],
  ["too short a text", { type: "string", minLength: 2 }, "a", [], en.inputTooShort(2)],
  ["a text of as many characters as code points", { type: "string", maxLength: 2 }, "😀😀", [], undefined],
  ["too long a text", { type: "string", maxLength: 1 }, "ab", [], en.inputTooLong(1)],
  ["broken JSON", { type: "object" }, "{", [], en.invalidJsonInput],
  ["a no is an answer", { type: "boolean" }, false, ["it"], undefined],
] as const)("%s", (_name, schema, value, required, expected) => {
  expect(problem({ ...schema }, value, [...required])).toBe(expected);
});

test("a whole input that is no object is refused before it is sent", () => {
  expect(inputProblems(inputFields({}), { [WHOLE_INPUT]: "[1]" }, en)).toEqual([{ field: WHOLE_INPUT, message: en.invalidJsonInput }]);
});

test("what was left empty is not sent, and a typed empty list is", () => {
  const fields = inputFields(object({ name: { type: "string" }, tags: { type: "array" }, more: { type: "object" }, on: { type: "boolean" } }));
  expect(inputOf(fields, { name: "", tags: "[]", on: false })).toEqual({ tags: [], on: false });
});

test("a default that no field fits is written as JSON, and sent as it is", () => {
  const fields = inputFields(object({ it: { type: "object", default: { a: 1 } } }));
  const values = initialValues(fields.map(({ field }) => field));
  expect(inputOf(fields, values)).toEqual({ it: { a: 1 } });
});
