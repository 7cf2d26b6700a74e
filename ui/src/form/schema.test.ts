import { expect, test } from "vitest";
import type { Json, JsonObject } from "../api/types";
import publicSchemas from "../testing/public-schemas.json";
import { en as detail } from "../strings/detail";
import { en as history } from "../strings/history";
import { en } from "../strings";
import { describeJsonError } from "./json-input";
import { nodeOf, type SchemaNode, type Schema, fits, initialValue, schemaOfValue, wayOf, textWithUnfinished, unfinished } from "./schema";

const strings = { ...en, ...detail, ...history };
const kindOf = (schema: Schema, root: Schema = schema) => {
  const node = nodeOf(root, schema);
  const more = node.kind === "field" ? node.control.type : node.kind === "json" ? node.why : "";
  return `${node.kind} ${more}${node.isNullable ? " or null" : ""}`;
};

const text = { type: "string" };
const object = { type: "object", properties: { a: text } };
const cases: [Schema, string][] = [
  [text, "field textarea"],
  [{ type: ["integer", "null"] }, "field number or null"],
  [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "field number or null"],
  [{ enum: ["a", "b", null] }, "field select or null"],
  [{ enum: [true, { a: 1 }] }, "options "],
  [{ const: { a: 1 } }, "const "],
  [{ oneOf: [{ const: 1, title: "One" }, { const: 2, title: "Two" }] }, "field select"],
  [{ oneOf: [text, object] }, "choice "],
  [{ type: ["string", "number"] }, "choice "],
  [{ anyOf: [{ type: "null" }, text, object] }, "choice  or null"],
  [{ allOf: [object, { properties: { b: text }, required: ["b"] }] }, "object "],
  [{ allOf: [{ type: "string" }, { type: "number" }] }, "json rule"],
  [{ ...object, anyOf: [{ required: ["a"] }, { required: ["b"] }] }, "object "],
  [{ ...object, oneOf: [{ properties: { kind: { const: "x" } } }] }, "json rule"],
  [{ type: "array", items: text }, "list "],
  [{ type: "array", items: { enum: ["a", "b"] } }, "field multiselect"],
  [{ type: "array", prefixItems: [text] }, "json tuple"],
  [{ type: "object", additionalProperties: text }, "json map"],
  [{ type: "object", properties: {} }, "object "],
  [{}, "json any"],
];

test.each(cases)("%j is edited as %s", (schema, expected) => {
  expect(kindOf(schema)).toBe(expected);
});

test.each([
  ["#/$defs/Way", "field select"], ["#/definitions/a~1b%25", "field number"], ["#/properties/x/items", "field boolean"], ["#/$defs/Loop", "json any"],
  ["https://evil.example/schema", "json any"], ["#/$defs/__proto__", "json any"],
])("the reference %s leads to its definition, and nowhere else", ($ref, expected) => {
  const root = {
    $defs: { Way: { enum: ["a"] , type: "string" }, Loop: { $ref: "#/$defs/Loop" } }, definitions: { "a/b%": { type: "integer" } },
    properties: { x: { type: "array", items: { type: "boolean" } } },
  };
  expect(kindOf({ $ref }, root)).toBe(expected);
});

const tree: Schema = { type: "object", required: ["child"], properties: { name: { default: "x" }, child: { $ref: "#" } } };

test("a schema that refers to itself begins, and ends", () => {
  expect(JSON.stringify(initialValue({ ...tree, $defs: { Tree: tree } }, { ...tree, properties: { child: { $ref: "#/$defs/Tree" } } })).length).toBeLessThan(200);
});

test("a new value has the defaults and the fixed values, and nothing else that nobody gave", () => {
  const schema = { type: "object", required: ["kind", "lines", "to", "who"], properties: {
    kind: { const: "mail" }, lines: { type: "array", items: text }, to: text, who: object, n: { default: 3 }, maybe: object,
  } };
  expect(initialValue(schema, schema)).toEqual({ kind: "mail", lines: [], who: {}, n: 3 });
});

test("of alternatives the one is chosen that the value fits", () => {
  const ways: Schema[] = [{ properties: { kind: { const: "a" }, x: text }, required: ["kind"] }, { properties: { kind: { const: "b" } }, required: ["kind"] }, { type: "string" }];
  const schema = { oneOf: ways };
  const node = nodeOf(schema, schema) as SchemaNode & { kind: "choice" };
  expect(node.ways.map(({ title }) => title)).toEqual(["a", "b", "string"]);
  const values: Json[] = [{ kind: "b" }, { kind: "a", x: "y" }, "word", 4];
  expect(values.map((value) => wayOf(schema, node, value))).toEqual([1, 0, 2, -1]);
});

test.each<[Json, Schema]>([
  [["a", "b"], { type: "array", items: { type: "string" } }],
  [["a", 1], { type: "array", items: {} }],
  [[{ n: 1 }, { n: 2 }], { type: "array", items: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } }],
  [null, {}],
])("%j without a schema keeps its types", (value, expected) => {
  expect(schemaOfValue(value)).toEqual(expected);
});

test("a part that is no JSON yet leaves the other parts as they are", () => {
  expect(textWithUnfinished({ a: [1, unfinished('{"x": $1')], b: '"' })).toBe('{\n  "a": [\n    1,\n    {"x": $1\n  ],\n  "b": "\\""\n}');
  expect(textWithUnfinished({ a: 1 })).toBeNull();
});

test.each([
  ['{\n  "a": {\n    "b": [1, x]\n  }\n}', "Line 3, column 14, in a.b[1]: this is not JSON; put text in double quotes"],
  ['{"a": 1,}', "Line 1, column 9: a name in double quotes is missing"],
  ['{"a" 1}', "Line 1, column 6, in a: a colon is missing"],
  ['{"a": 1', "Line 1, column 8, in a: the closing brace is missing"],
  ["", "Line 1, column 1: a value is missing"],
  ["1 // x", "Line 1, column 3: comments are not JSON"],
  ["[1 2]", "Line 1, column 4, in [0]: a comma is missing"],
])("a mistake in %j is named with its line and its field", (source, expected) => {
  expect(describeJsonError(source, strings)).toBe(expected);
});

/** Return the kinds of all parts of a schema, as deep as a form opens. */
function kindsIn(root: Schema, schema: Schema, depth = 0): string[] {
  const node = nodeOf(root, schema);
  const parts = node.kind === "object" ? node.properties.map((one) => one.schema) : node.kind === "list" ? [node.item] : node.kind === "choice" ? node.ways.map((one) => one.schema) : [];
  return [node.kind, ...(depth < 5 ? parts.flatMap((part) => kindsIn(root, part, depth + 1)) : [])];
}

/** Tool schemas of public MCP servers, with those parts of them that are JSON: objects without named fields. */
const jsonParts: Record<string, number> = { "API-patch-block-children": 1, "API-post-page": 2 };

test.each(publicSchemas.map((one) => [one.server, one.name, one.schema as unknown as JsonObject] as const))("%s: the tool %s is a form", (_server, name, schema) => {
  const kinds = kindsIn(schema, schema);
  expect(kinds[0]).toBe("object");
  expect(kinds.filter((kind) => kind === "json")).toHaveLength(jsonParts[name] ?? 0);
  expect(fits(schema, nodeOf(schema, schema), initialValue(schema, schema))).toBe(true);
});
