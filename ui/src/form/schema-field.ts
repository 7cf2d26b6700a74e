import type { FormField, Json, JsonObject, Request } from "../api/types";
import { isObject } from "./values";

type Schema = JsonObject;
/** The control that a schema asks for: a field without its name and its default. */
type ControlSpec = Omit<FormField, "name" | "default">;

function resolveReference(root: Schema, schema: Schema): Schema {
  const reference = typeof schema.$ref === "string" ? schema.$ref : "";
  if (!reference.startsWith("#/")) return schema;
  const found = reference.slice(2).split("/").reduce<Json | undefined>(
    (at, key) => (isObject(at) ? at[key.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined), root,
  );
  return isObject(found) ? { ...found, ...schema, $ref: null } : schema;
}

/** Unwrap `Optional[X]`, which is written as anyOf X or null, to X. */
function withoutNull(root: Schema, schema: Schema): Schema {
  const ways = Array.isArray(schema.anyOf) ? schema.anyOf.filter(isObject).map((one) => resolveReference(root, one)) : [];
  const [only, ...others] = ways.filter((one) => one.type !== "null");
  return only && others.length === 0 ? { ...schema, ...only } : schema;
}

function optionsOf(schema: Schema): FormField["options"] | null {
  const values = schema.enum ?? (schema.const !== undefined ? [schema.const] : null);
  if (!Array.isArray(values)) return null;
  const plain = values.filter((one) => typeof one === "string" || typeof one === "number");
  return plain.length === values.length ? plain.map((value) => ({ value, label: String(value) })) : null;
}

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

function listControl(root: Schema, schema: Schema): ControlSpec | null {
  const options = isObject(schema.items) ? optionsOf(withoutNull(root, resolveReference(root, schema.items))) : null;
  return options ? { type: "multiselect", options } : null;
}

function controlFor(root: Schema, schema: Schema): ControlSpec | null {
  const options = optionsOf(schema);
  if (options) return { type: "select", options };
  if (schema.type === "integer" || schema.type === "number") return numberControl(schema);
  if (schema.type === "boolean") return { type: "boolean" };
  if (schema.type === "array") return listControl(root, schema);
  if (schema.type !== "string") return null;
  if (schema.format === "date") return { type: "date" };
  if (schema.format === "date-time") return { type: "datetime" };
  return { type: "textarea", min_length: numberIn(schema.minLength), max_length: numberIn(schema.maxLength) };
}

interface Property {
  control: ControlSpec;
  title: string | null;
  help: string | null;
  default: Json | undefined;
}

const textIn = (value: Json | undefined) => (typeof value === "string" ? value : null);

/** Return the schema of one argument; null if the schema does not name it. */
export function schemaOfArgument(root: JsonObject | null | undefined, name: string): JsonObject | null {
  const properties = root?.properties;
  const own = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return root && isObject(own) ? withoutNull(root, resolveReference(root, own)) : null;
}

/** Return the control for one property of a schema; null if no control fits. */
function propertyOf(root: JsonObject | null | undefined, name: string): Property | null {
  const schema = schemaOfArgument(root, name);
  if (!root || !schema) return null;
  const control = controlFor(root, schema);
  return control && { control, title: textIn(schema.title), help: textIn(schema.description), default: schema.default };
}

/** Keywords that a form can show; any other keyword is a rule over several properties. */
const supportedKeys = new Set(
  ["type", "title", "description", "properties", "required", "additionalProperties", "$defs", "$schema"],
);

/** Return the fields of a schema if every property has a control; null means a JSON editor. */
export function fieldsOfSchema(schema: JsonObject | null | undefined): FormField[] | null {
  const properties = schema?.properties;
  if (!schema || !isObject(properties) || !Object.keys(schema).every((key) => supportedKeys.has(key))) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.keys(properties).map((name): FormField | null => {
    const found = propertyOf(schema, name);
    if (!found) return null;
    const { control, title, help, default: value } = found;
    const type = control.type === "textarea" ? "text" : control.type;
    const common = { name, label: title ?? name, help, required: required.includes(name), default: value ?? null };
    return { ...control, ...common, type };
  });
  const convertible = fields.filter((field) => field !== null);
  return convertible.length > 0 && convertible.length === fields.length ? convertible : null;
}

/** Return the fields to render: those of the form, or of a schema that is as simple as a form. */
export function renderedFields(request: Pick<Request, "form" | "schema"> & Partial<Pick<Request, "answer_schema">>): FormField[] {
  // The two buttons are the two answers.
  if (request.answer_schema?.type === "boolean") return [];
  return request.form?.fields ?? fieldsOfSchema(request.schema) ?? [];
}

function controlForValue(before: Json): ControlSpec | null {
  if (typeof before === "string") return { type: "textarea" };
  if (typeof before === "number") return { type: "number" };
  return typeof before === "boolean" ? { type: "boolean" } : null;
}

/** Return whether a control can show this value; a value of another type would be dropped without a warning. */
function canShow(control: ControlSpec, value: Json): boolean {
  if (control.type === "number") return typeof value === "number";
  if (control.type === "boolean") return typeof value === "boolean";
  if (control.type === "multiselect") return Array.isArray(value);
  return typeof value === "string" || (control.type === "select" && typeof value === "number");
}

/** Return the field that edits an argument, from the action's schema or from the value; null means a JSON editor. */
export function fieldOfArgument(schema: JsonObject | null | undefined, name: string, before: Json): FormField | null {
  const common = { name, label: name, required: true, default: before };
  const property = propertyOf(schema, name);
  if (property && canShow(property.control, before)) return { ...property.control, ...common, help: property.help };
  const control = controlForValue(before);
  return control && { ...control, ...common };
}
