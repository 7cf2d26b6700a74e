import type { FormField, Json, JsonObject } from "../api/types";
import { isObject } from "./values";

type Schema = JsonObject;
type Given = Omit<FormField, "name" | "default">;

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
  return { type: "textarea", min_length: numberIn(schema.minLength), max_length: numberIn(schema.maxLength) };
}

function byValue(before: Json): Given | null {
  if (typeof before === "string") return { type: "textarea" };
  if (typeof before === "number") return { type: "number" };
  return typeof before === "boolean" ? { type: "boolean" } : null;
}

/** Whether the control for a type can show this value: one of another type would silently become nothing. */
function canShow(given: Given, value: Json): boolean {
  if (given.type === "number") return typeof value === "number";
  if (given.type === "boolean") return typeof value === "boolean";
  if (given.type === "multiselect") return Array.isArray(value);
  return typeof value === "string" || (given.type === "select" && typeof value === "number");
}

/** Return the field that edits an argument, from the action's schema or else from the value; null for free JSON. */
export function fieldOfArgument(schema: JsonObject | null | undefined, name: string, before: Json): FormField | null {
  const properties = schema?.properties;
  const own = schema && isObject(properties) && isObject(properties[name]) ? properties[name] : null;
  const wanted = schema && own ? present(schema, resolved(schema, own)) : null;
  const given = wanted && bySchema(schema ?? {}, wanted);
  if (wanted && given && canShow(given, before)) {
    const help = typeof wanted.description === "string" ? wanted.description : null;
    return { ...given, name, label: name, required: true, default: before, help };
  }
  const plain = byValue(before);
  return plain && { ...plain, name, label: name, required: true, default: before };
}
