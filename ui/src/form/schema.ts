import { isEqual, isObject, type Json, type JsonObject, type FormField } from "../api/types";

export type Schema = JsonObject;

const maxReferences = 16;

/** Return the schemas in a list. */
const objectsIn = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isObject) : []);
const propertiesOf = (schema: Schema): JsonObject => (isObject(schema.properties) ? schema.properties : {});

/** Return the schema to which local references lead; its own words win. */
export function resolveReference(root: Schema, schema: Schema): Schema {
  let found = schema;
  for (let step = 0; step < maxReferences; step += 1) {
    const reference = typeof found.$ref === "string" ? found.$ref : "";
    if (!reference.startsWith("#/")) return found;
    const target = reference.slice(2).split("/").reduce<Json | undefined>((at, part) => {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      if (Array.isArray(at)) return at[Number(key)];
      return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }, root);
    const { $ref: _followed, ...own } = found;
    if (!isObject(target)) return own;
    found = { ...target, ...own };
  }
  return {};
}

const isNull = (schema: Schema) => schema.type === "null" || schema.const === null || isEqual(schema.enum, [null]);
/** The keywords of alternatives. */
const keywords = ["anyOf", "oneOf"] as const;

/** Take null out of a schema, and say whether it was an answer. */
function withoutNull(root: Schema, schema: Schema): [schema: Schema, isNullable: boolean] {
  let isNullable = schema.nullable === true;
  let rest = schema;
  if (Array.isArray(rest.type) && rest.type.includes("null")) {
    const types = rest.type.filter((type) => type !== "null");
    isNullable = true;
    rest = { ...rest, type: types.length === 1 ? (types[0] ?? null) : types };
  }
  if (Array.isArray(rest.enum) && rest.enum.length > 1 && rest.enum.includes(null)) {
    isNullable = true;
    rest = { ...rest, enum: rest.enum.filter((one) => one !== null) };
  }
  for (const keyword of keywords) {
    const ways = objectsIn(rest[keyword]).map((one) => resolveReference(root, one));
    const others = ways.filter((one) => !isNull(one));
    if (others.length === ways.length) continue;
    const { [keyword]: _ways, ...own } = rest;
    isNullable = true;
    rest = others.length === 1 ? { ...others[0], ...own } : { ...own, [keyword]: others };
  }
  return [rest, isNullable];
}

/** Return the parts of `allOf` as one schema; null if two parts contradict each other. */
function merged(root: Schema, schema: Schema): Schema | null {
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...own } = schema;
  let found: Schema = own;
  for (const each of objectsIn(allOf)) {
    const part = merged(root, resolveReference(root, each));
    if (!part) return null;
    const { properties, required, ...others } = part;
    const isOther = ([key, value]: [string, Json]) => key !== "title" && key !== "description" && key in found && !isEqual(found[key], value);
    if (Object.entries(others).some(isOther)) return null;
    const names = [found.required, required].flatMap((one) => (Array.isArray(one) ? one : []));
    const all = { ...propertiesOf(found), ...(isObject(properties) ? properties : {}) };
    found = { ...others, ...found, ...(Object.keys(all).length > 0 && { properties: all }), ...(names.length > 0 && { required: [...new Set(names)] }) };
  }
  return found;
}

/** The control that a schema asks for: a field without its name and its default. */
export type ControlSpec = Omit<FormField, "name" | "default">;

/** Why a part of a schema has no form and is edited as JSON. */
type NoForm = "any" | "map" | "tuple" | "rule";

interface Property {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

interface Way {
  title: string;
  schema: Schema;
}

/** How a value is edited: by one control, or by the editors of its parts. */
export type SchemaNode = { title: string | null; help: string | null; isNullable: boolean } & (
  | { kind: "field"; control: ControlSpec }
  | { kind: "options"; options: Json[] }
  | { kind: "const"; value: Json }
  | { kind: "object"; properties: Property[] }
  | { kind: "list"; item: Schema }
  | { kind: "choice"; ways: Way[] }
  | { kind: "json"; why: NoForm }
);

type Body = SchemaNode extends infer N ? (N extends SchemaNode ? Omit<N, "title" | "help" | "isNullable"> : never) : never;

const textIn = (value: Json | undefined) => (typeof value === "string" ? value : null);
const numberIn = (value: Json | undefined) => (typeof value === "number" ? value : null);

/** Return a bound. An exclusive bound can be converted to an inclusive one for integers only. */
function bound(schema: Schema, inclusive: string, exclusive: string, step: 1 | -1): number | null {
  const beyond = schema.type === "integer" ? numberIn(schema[exclusive]) : null;
  return numberIn(schema[inclusive]) ?? (beyond === null ? null : beyond + step);
}

function numberControl(schema: Schema): ControlSpec {
  const min = bound(schema, "minimum", "exclusiveMinimum", 1);
  const max = bound(schema, "maximum", "exclusiveMaximum", -1);
  return { type: "number", min, max, step: numberIn(schema.multipleOf) };
}

const isOption = (value: Json) => typeof value === "string" || typeof value === "number";

/** Return the fixed values of a schema; null if it has none. */
function optionsOf(schema: Schema): { value: Json; label: string }[] | null {
  const labelled = (value: Json) => ({ value, label: typeof value === "string" ? value : JSON.stringify(value) });
  if (Array.isArray(schema.enum)) return schema.enum.map(labelled);
  for (const keyword of keywords) {
    const ways = objectsIn(schema[keyword]);
    if (ways.length > 1 && ways.every((one) => "const" in one && !("properties" in one))) {
      return ways.map(({ const: value = null, title }) => ({ ...labelled(value), ...(typeof title === "string" && { label: title }) }));
    }
  }
  return null;
}

function optionsNode(options: { value: Json; label: string }[]): Body {
  const plain = options.flatMap(({ value, label }) => (isOption(value) ? [{ value: value as string | number, label }] : []));
  return plain.length === options.length ? { kind: "field", control: { type: "select", options: plain } } : { kind: "options", options: options.map(({ value }) => value) };
}

function listNode(root: Schema, schema: Schema): Body {
  if (Array.isArray(schema.items) || Array.isArray(schema.prefixItems)) return { kind: "json", why: "tuple" };
  const item = isObject(schema.items) ? schema.items : {};
  const [inner, isNullable] = withoutNull(root, resolveReference(root, item));
  const options = isNullable ? null : optionsOf(inner);
  const plain = (options ?? []).flatMap(({ value, label }) => (isOption(value) ? [{ value: value as string | number, label }] : []));
  if (options && plain.length === options.length) return { kind: "field", control: { type: "multiselect", options: plain } };
  return { kind: "list", item };
}

function objectNode(schema: Schema): Body {
  const names = Array.isArray(schema.required) ? schema.required : [];
  const properties = Object.entries(propertiesOf(schema)).flatMap(([name, one]): Property[] => (
    isObject(one) ? [{ name, schema: one, isRequired: names.includes(name) }] : one === true ? [{ name, schema: {}, isRequired: names.includes(name) }] : []));
  const isMap = properties.length === 0 && (isObject(schema.patternProperties) || (!("properties" in schema) && schema.additionalProperties !== false) || isObject(schema.additionalProperties));
  return isMap ? { kind: "json", why: "map" } : { kind: "object", properties };
}

const titleOf = (root: Schema, schema: Schema, at: number): string => {
  const found = resolveReference(root, schema);
  const fixed = Object.entries(propertiesOf(found)).flatMap(([, one]) => (isObject(one) && typeof one.const === "string" ? [one.const] : []));
  return textIn(found.title) ?? fixed[0] ?? textIn(found.type) ?? String(at + 1);
};

function choiceNode(root: Schema, schema: Schema): Body | null {
  if (Array.isArray(schema.type)) return { kind: "choice", ways: schema.type.map((type) => ({ title: String(type), schema: { ...schema, type } })) };
  for (const keyword of keywords) {
    const { [keyword]: listed, ...own } = schema;
    const ways = objectsIn(listed);
    if (ways.length === 0) continue;
    // Alternatives that only require other properties are a rule, which the server checks.
    if ("properties" in own) return ways.every((one) => Object.keys(one).every((key) => key === "required" || key === "title" || key === "description")) ? null : { kind: "json", why: "rule" };
    if (ways.length === 1 && ways[0]) return bodyOf(root, { ...resolveReference(root, ways[0]), ...own });
    return { kind: "choice", ways: ways.map((one, at) => ({ title: titleOf(root, one, at), schema: one })) };
  }
  return null;
}

function textControl(schema: Schema): ControlSpec {
  if (schema.format === "date") return { type: "date" };
  if (schema.format === "date-time") return { type: "datetime" };
  return { type: "textarea", min_length: numberIn(schema.minLength), max_length: numberIn(schema.maxLength) };
}

function bodyOf(root: Schema, given: Schema): Body {
  const schema = merged(root, given);
  if (!schema) return { kind: "json", why: "rule" };
  if ("const" in schema) return { kind: "const", value: schema.const ?? null };
  const options = optionsOf(schema);
  if (options) return optionsNode(options);
  const choice = choiceNode(root, schema);
  if (choice) return choice;
  if (schema.type === "integer" || schema.type === "number") return { kind: "field", control: numberControl(schema) };
  if (schema.type === "boolean") return { kind: "field", control: { type: "boolean" } };
  if (schema.type === "array" || "items" in schema) return listNode(root, schema);
  if (schema.type === "object" || "properties" in schema) return objectNode(schema);
  return schema.type === "string" ? { kind: "field", control: textControl(schema) } : { kind: "json", why: "any" };
}

/** Return how a schema is edited; `root` has its definitions. */
export function nodeOf(root: Schema, schema: Schema): SchemaNode {
  const [inner, isNullable] = withoutNull(root, resolveReference(root, schema));
  const words = merged(root, inner) ?? inner;
  return { title: textIn(words.title), help: textIn(words.description), isNullable, ...bodyOf(root, inner) };
}

/** Parts of a value whose JSON is not valid (yet), with the text as typed. */
const texts = new WeakMap<JsonObject, string>();

/** Return a stand-in for a part that is not valid JSON yet. */
export function unfinished(text: string): JsonObject {
  const part = {};
  texts.set(part, text);
  return part;
}

/** Numbers in which nobody found one number yet, with the text as typed. */
const numbers = new WeakMap<JsonObject, string>();

/** Return a stand-in for a number that is not read yet; see `Unread`. */
export function unfinishedNumber(text: string): JsonObject {
  const part = {};
  numbers.set(part, text);
  return part;
}

export const unreadText = (value: Json | undefined) => (isObject(value) ? numbers.get(value) : undefined);

export const unfinishedText = (value: Json | undefined) => (isObject(value) ? texts.get(value) : undefined);

/** Return a value as JSON text with its unfinished parts as they were typed; null if it has none. */
export function textWithUnfinished(value: Json | undefined): string | null {
  const found: string[] = [];
  const mark = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const source = JSON.stringify(value, (_key, part: Json) => {
    const number = unreadText(part);
    // As JSON it would be one of the numbers that it can mean.
    const text = number === undefined ? unfinishedText(part) : `${number}?`;
    if (text === undefined) return part;
    found.push(text);
    return `${mark}-${found.length - 1}`;
  }, 2);
  if (found.length === 0) return null;
  return found.reduce((text, part, at) => text.replace(`"${mark}-${at}"`, () => part), source);
}

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
