import type { FormField, Json, JsonObject, Request } from "../api/types";

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Schema = JsonObject;
/** What a schema says of a field: all but its name and what stands in it. */
export type Given = Omit<FormField, "name" | "default">;

function resolved(root: Schema, schema: Schema): Schema {
  const reference = typeof schema.$ref === "string" ? schema.$ref : "";
  if (!reference.startsWith("#/")) return schema;
  const found = reference.slice(2).split("/").reduce<Json | undefined>(
    (at, key) => (isObject(at) ? at[key.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined), root,
  );
  return isObject(found) ? { ...found, ...schema, $ref: null } : schema;
}

/** `Optional[X]` is written as anyOf X or null: what is edited is X. */
function present(root: Schema, schema: Schema): Schema {
  const ways = Array.isArray(schema.anyOf) ? schema.anyOf.filter(isObject).map((one) => resolved(root, one)) : [];
  const [only, ...others] = ways.filter((one) => one.type !== "null");
  return only && others.length === 0 ? { ...schema, ...only } : schema;
}

function choices(schema: Schema): FormField["options"] | null {
  const values = schema.enum ?? (schema.const !== undefined ? [schema.const] : null);
  if (!Array.isArray(values)) return null;
  const plain = values.filter((one) => typeof one === "string" || typeof one === "number");
  return plain.length === values.length ? plain.map((value) => ({ value, label: String(value) })) : null;
}

const numberIn = (value: Json | undefined) => (typeof value === "number" ? value : null);

/** A bound that is itself forbidden can be said as "at least" for whole numbers only. */
function bound(schema: Schema, inclusive: string, exclusive: string, step: 1 | -1): number | null {
  const beyond = schema.type === "integer" ? numberIn(schema[exclusive]) : null;
  return numberIn(schema[inclusive]) ?? (beyond === null ? null : beyond + step);
}

function ofNumber(schema: Schema): Given {
  const min = bound(schema, "minimum", "exclusiveMinimum", 1);
  const max = bound(schema, "maximum", "exclusiveMaximum", -1);
  return { type: "number", min, max, step: numberIn(schema.multipleOf) };
}

function ofList(root: Schema, schema: Schema): Given | null {
  const options = isObject(schema.items) ? choices(present(root, resolved(root, schema.items))) : null;
  return options ? { type: "multiselect", options } : null;
}

function bySchema(root: Schema, schema: Schema): Given | null {
  const options = choices(schema);
  if (options) return { type: "select", options };
  if (schema.type === "integer" || schema.type === "number") return ofNumber(schema);
  if (schema.type === "boolean") return { type: "boolean" };
  if (schema.type === "array") return ofList(root, schema);
  if (schema.type !== "string") return null;
  if (schema.format === "date") return { type: "date" };
  if (schema.format === "date-time") return { type: "datetime" };
  return { type: "textarea", min_length: numberIn(schema.minLength), max_length: numberIn(schema.maxLength) };
}

interface Property {
  given: Given;
  title: string | null;
  help: string | null;
  default: Json | undefined;
}

const textIn = (value: Json | undefined) => (typeof value === "string" ? value : null);

/** Return what a schema says of one of its properties; null where no control fits. */
export function propertyOf(root: JsonObject | null | undefined, name: string): Property | null {
  const properties = root?.properties;
  const own = isObject(properties) ? properties[name] : undefined;
  if (!root || !isObject(own)) return null;
  const schema = present(root, resolved(root, own));
  const given = bySchema(root, schema);
  return given && { given, title: textIn(schema.title), help: textIn(schema.description), default: schema.default };
}

/** Rules over several properties, which a form cannot show. */
const plainKeys = new Set(
  ["type", "title", "description", "properties", "required", "additionalProperties", "$defs", "$schema"],
);

/** Return the fields of a schema in which every property has a control; null for any other: JSON answers that. */
export function fieldsOfSchema(schema: JsonObject | null | undefined): FormField[] | null {
  const properties = schema?.properties;
  if (!schema || !isObject(properties) || !Object.keys(schema).every((key) => plainKeys.has(key))) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.keys(properties).map((name): FormField | null => {
    const found = propertyOf(schema, name);
    if (!found) return null;
    const { given, title, help, default: value } = found;
    const type = given.type === "textarea" ? "text" : given.type;
    const common = { name, label: title ?? name, help, required: required.includes(name), default: value ?? null };
    return { ...given, ...common, type };
  });
  const known = fields.filter((field) => field !== null);
  return known.length > 0 && known.length === fields.length ? known : null;
}

/** The fields that are drawn: those of its form, or of a schema that is as simple as one. */
export function drawnFields(request: Pick<Request, "form" | "schema"> & Partial<Pick<Request, "answer_schema">>): FormField[] {
  // Its two buttons are the two answers.
  if (request.answer_schema?.type === "boolean") return [];
  return request.form?.fields ?? fieldsOfSchema(request.schema) ?? [];
}
