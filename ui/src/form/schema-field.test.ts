import { expect, test } from "vitest";
import type { JsonObject } from "../api/types";
import { editSchemaOf, fieldOfArgument, fieldsOfSchema } from "./schema-field";

const properties: JsonObject = {
  city: { type: "string", title: "City", description: "of birth" },
  nights: { type: "integer", exclusiveMinimum: 0, default: 2 },
  sea: { type: "boolean" },
};

test("an argument with parts is edited by its schema if it fits, else by its own types", () => {
  const root: JsonObject = { properties: { to: { type: "array", items: { type: "string", maxLength: 9 } }, n: { type: "array", items: { type: "number" } }, any: {} } };
  expect(editSchemaOf(root, "to", ["a"])).toEqual({ type: "array", items: { type: "string", maxLength: 9 } });
  expect(editSchemaOf(root, "n", { a: 1 })).toMatchObject({ type: "object", required: ["a"] });
  expect(editSchemaOf(root, "any", ["a"])).toEqual({ type: "array", items: { type: "string" } });
});

test("a simple schema is drawn as a form", () => {
  expect(fieldsOfSchema({ type: "object", properties, required: ["city"] })).toMatchObject([
    { name: "city", type: "text", label: "City", help: "of birth", required: true },
    { name: "nights", type: "number", label: "nights", min: 1, default: 2, required: false },
    { name: "sea", type: "boolean", default: null },
  ]);
});

test.each([
  ["a nested property", { properties: { ...properties, address: { type: "object" } } }],
  ["a rule over several properties", { properties, anyOf: [{ required: ["city"] }] }],
  ["no property", { type: "object" }],
])("a schema with %s has no flat form", (_name, schema: JsonObject) => {
  expect(fieldsOfSchema(schema)).toBeNull();
});

const schema: JsonObject = {
  $defs: { Way: { enum: ["card", "cash"], type: "string" } },
  properties: {
    amount: { type: "integer", minimum: 1, maximum: 5000, description: "in yen" },
    way: { $ref: "#/$defs/Way" },
    note: { anyOf: [{ type: "string", maxLength: 80 }, { type: "null" }] },
    day: { type: "string", format: "date" },
    tags: { type: "array", items: { enum: ["a", "b"] } },
    lines: { type: "array", items: { type: "object" } },
    mixed: { enum: [1, null] },
  },
};

test.each([
  ["amount", 4000, { type: "number", min: 1, max: 5000, help: "in yen" }],
  ["way", "card", { type: "select", options: [{ value: "card", label: "card" }, { value: "cash", label: "cash" }] }],
  ["note", "late", { type: "textarea", max_length: 80 }],
  ["day", "2026-01-02", { type: "date" }],
  ["tags", ["a"], { type: "multiselect" }],
  ["unknown", true, { type: "boolean", default: true }],
])("%s gets the editor of its schema or of its value", (name, before, expected) => {
  expect(fieldOfArgument(schema, name, before)).toMatchObject(expected);
});

test.each([["lines", [{}]], ["note", null], ["mixed", null], ["amount", "4000"]])(
  "%s with a value that no control shows keeps its type: JSON or text", (name, before) => {
    expect(fieldOfArgument(schema, name, before)?.type).toBe(before === "4000" ? "textarea" : undefined);
  },
);
