import type { FormField, Json, JsonObject } from "../api/types";

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldOf(name: string, schema: JsonObject, required: boolean): FormField {
  const common = {
    name,
    required,
    label: typeof schema.title === "string" ? schema.title : name,
    help: typeof schema.description === "string" ? schema.description : null,
    ...(schema.default !== undefined && { default: schema.default }),
  };
  if (Array.isArray(schema.enum)) {
    const options = schema.enum.filter((one) => typeof one === "string" || typeof one === "number");
    return { ...common, type: "select", options: options.map((value) => ({ value, label: String(value) })) };
  }
  if (schema.type === "integer" || schema.type === "number") return { ...common, type: "number" };
  return { ...common, type: schema.type === "boolean" ? "boolean" : "text" };
}

/** Return the fields for an agent's input: texts, numbers, booleans and choices. */
export function inputFields(schema: JsonObject | null | undefined): FormField[] {
  const properties = schema?.properties;
  if (!isObject(properties)) return [];
  const required = Array.isArray(schema?.required) ? schema.required : [];
  return Object.entries(properties).flatMap(([name, one]) => (isObject(one) ? [fieldOf(name, one, required.includes(name))] : []));
}
