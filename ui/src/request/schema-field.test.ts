import { expect, test } from "vitest";
import type { JsonObject } from "../api/types";
import { fieldsOfSchema } from "./schema-field";

const properties: JsonObject = {
  city: { type: "string", title: "City", description: "of birth" },
  nights: { type: "integer", exclusiveMinimum: 0, default: 2 },
  sea: { type: "boolean" },
};

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
])("a schema with %s is answered as JSON", (_name, schema: JsonObject) => {
  expect(fieldsOfSchema(schema)).toBeNull();
});
