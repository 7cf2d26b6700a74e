import type { FormField, Json } from "../api/types";
import { keywords, merged, objectsIn, propertiesOf, resolveReference, withoutNull, type Schema } from "./schema-parts";
import { isObject } from "../api/json";

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
