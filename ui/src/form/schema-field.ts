import { type FormField, type Json, type JsonObject, type Request, isObject } from "../api/types";
import { nodeOf, type ControlSpec, resolveReference, type Schema, canShow, fits, initialValue, schemaOfValue } from "./schema";

/** Return the schema of one argument; null if the schema does not name it. */
export function schemaOfArgument(root: Schema | null | undefined, name: string): Schema | null {
  const properties = root?.properties;
  const own = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return root && isObject(own) ? resolveReference(root, own) : null;
}

interface Property {
  control: ControlSpec;
  title: string | null;
  help: string | null;
  default: Json | undefined;
  isNullable: boolean;
}

/** Return the control for one property of a schema; null if no single control fits. */
function propertyOf(root: Schema | null | undefined, name: string): Property | null {
  const schema = schemaOfArgument(root, name);
  if (!root || !schema) return null;
  const node = nodeOf(root, schema);
  if (node.kind !== "field") return null;
  const { control, title, help, isNullable } = node;
  return { control, title, help, isNullable, default: schema.default };
}

/** Keywords that a form can show; any other keyword is a rule over several properties. */
const supportedKeys = new Set(
  ["type", "title", "description", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema"],
);

/** Return the fields of a schema if every property has one control; null means an editor with parts. */
export function fieldsOfSchema(schema: JsonObject | null | undefined): FormField[] | null {
  const properties = schema?.properties;
  if (!schema || !isObject(properties) || !Object.keys(schema).every((key) => supportedKeys.has(key))) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.keys(properties).map((name): FormField | null => {
    const property = propertyOf(schema, name);
    // An answer that may be null, and must be given, needs a way to say so.
    if (!property || (property.isNullable && required.includes(name))) return null;
    const { control, title, help } = property;
    const common = { name, label: title ?? name, help, required: required.includes(name), default: property.default ?? null };
    return { ...control, ...common, type: control.type === "textarea" ? "text" : control.type };
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

/** Return the answer with which an editor of a schema begins: its defaults and fixed values. */
export function initialAnswer(schema: JsonObject | null | undefined): Json {
  return (schema && initialValue(schema, schema)) ?? {};
}

function controlForValue(before: Json): ControlSpec | null {
  if (typeof before === "string") return { type: "textarea" };
  if (typeof before === "number") return { type: "number" };
  return typeof before === "boolean" ? { type: "boolean" } : null;
}

/** Return the field that edits an argument, from the action's schema or from the value; null means an editor with parts. */
export function fieldOfArgument(schema: JsonObject | null | undefined, name: string, before: Json): FormField | null {
  const common = { name, label: name, required: true, default: before };
  const property = propertyOf(schema, name);
  if (property && canShow(property.control, before)) return { ...property.control, ...common, help: property.help };
  const control = controlForValue(before);
  return control && { ...control, ...common };
}

/** Return the schema by which an argument with parts is edited: its own if the value fits it, else that of the value. */
export function editSchemaOf(root: Schema, name: string, before: Json): Schema {
  const own = schemaOfArgument(root, name);
  const node = own && nodeOf(root, own);
  return own && node && node.kind !== "json" && fits(root, node, before) ? own : schemaOfValue(before);
}
