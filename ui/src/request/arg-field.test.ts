import { expect, test } from "vitest";
import type { JsonObject } from "../api/types";
import { fieldOfArgument } from "./arg-field";

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
