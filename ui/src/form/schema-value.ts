import type { Json, JsonObject } from "../api/types";
import { nodeOf, type ControlSpec, type SchemaNode } from "./schema-node";
import { resolveReference, type Schema } from "./schema-parts";
import { unreadText } from "./unfinished";
import { isEqual, isObject } from "../api/json";

/** A schema that refers to itself would begin without an end. */
const maxDepth = 6;

/** Return the value with which a new part begins; undefined if a person has to give one. */
export function initialValue(root: Schema, schema: Schema, depth = 0): Json | undefined {
  const resolved = resolveReference(root, schema);
  if (resolved.default !== undefined) return resolved.default;
  const node = nodeOf(root, schema);
  if (node.kind === "const") return node.value;
  if (node.kind === "list") return [];
  if (node.kind !== "object" || depth >= maxDepth) return undefined;
  const parts = node.properties.flatMap(({ name, schema: part, isRequired }): [string, Json][] => {
    const hasDefault = resolveReference(root, part).default !== undefined;
    const value = isRequired || hasDefault ? initialValue(root, part, depth + 1) : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(parts);
}

/** Return whether a control can show a value; a value of another type would be dropped without a warning. */
export function canShow(control: ControlSpec, value: Json): boolean {
  if (control.type === "number") return typeof value === "number";
  if (control.type === "boolean") return typeof value === "boolean";
  if (control.type === "multiselect") return Array.isArray(value) && value.every((one) => typeof one === "string" || typeof one === "number");
  return typeof value === "string" || (control.type === "select" && typeof value === "number");
}

/** Return whether the editor of a node can show a value; any other value is edited as JSON. */
export function fits(root: Schema, node: SchemaNode, value: Json | undefined): boolean {
  if (value === undefined || (value === null && node.isNullable) || unreadText(value) !== undefined) return true;
  switch (node.kind) {
    case "field": return canShow(node.control, value);
    case "options": return node.options.some((one) => isEqual(one, value));
    case "const": return isEqual(node.value, value);
    case "object": return isObject(value);
    case "list": return Array.isArray(value);
    case "choice": return wayOf(root, node, value) >= 0;
    case "json": return true;
  }
}

/** Return how well an object fits alternative properties: fixed ones must be equal, required ones present. */
function fitsObject(root: Schema, node: SchemaNode & { kind: "object" }, value: JsonObject): boolean {
  return node.properties.every(({ name, schema, isRequired }) => {
    const part = nodeOf(root, schema);
    if (!Object.hasOwn(value, name)) return !isRequired;
    if (part.kind === "field" && part.control.type === "select") return (part.control.options ?? []).some((option) => option.value === value[name]);
    return part.kind === "const" || part.kind === "field" ? fits(root, part, value[name]) : true;
  });
}

/** Return the number of the first alternative that a value fits; -1 if it fits none. */
export function wayOf(root: Schema, { ways }: SchemaNode & { kind: "choice" }, value: Json | undefined): number {
  if (value === undefined) return 0;
  const nodes = ways.map(({ schema }) => nodeOf(root, schema));
  const exact = nodes.findIndex((node) => (node.kind === "object" ? isObject(value) && fitsObject(root, node, value) : node.kind !== "json" && fits(root, node, value)));
  return exact >= 0 ? exact : nodes.findIndex((node) => node.kind !== "const" && fits(root, node, value));
}

const typeNames = { string: "string", number: "number", boolean: "boolean" } as const;

/** Return a schema that a value without one keeps: its types, and for lists that of their items. */
export function schemaOfValue(value: Json, depth = 0): Schema {
  if (depth >= maxDepth) return {};
  if (Array.isArray(value)) {
    const items = value.map((one) => schemaOfValue(one, depth + 1));
    const [first] = items;
    return { type: "array", items: first && items.every((one) => isEqual(one, first)) ? first : {} };
  }
  if (unreadText(value) !== undefined) return { type: "number" };
  if (isObject(value)) {
    const properties = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, schemaOfValue(one, depth + 1)]));
    return { type: "object", properties, required: Object.keys(value) };
  }
  const type = typeNames[typeof value as keyof typeof typeNames];
  return type ? { type } : {};
}
