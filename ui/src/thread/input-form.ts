import type { FormField, Json, JsonObject } from "../api/types";

/** One field of an agent's input; a value without a matching control is typed as JSON. */
export interface InputField {
  field: FormField;
  schema: JsonObject;
  isJson: boolean;
}

/** The field name of an input whose schema has no known properties. */
export const WHOLE_INPUT = "(input)";

/** A text that may be longer than this gets a text area. */
const textareaLength = 200;

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const text = (value: Json | undefined): string | null => (typeof value === "string" ? value : null);
const number = (value: Json | undefined): number | null => (typeof value === "number" ? value : null);

/** Resolve a schema's reference and remove the "or null" of an optional value. */
function normalizeSchema(schema: JsonObject, root: JsonObject): JsonObject {
  const name = text(schema.$ref)?.match(/^#\/(?:\$defs|definitions)\/([^/]+)$/)?.[1];
  const named = [root.$defs, root.definitions].flatMap((defs) => (name && isObject(defs) && isObject(defs[name]) ? [defs[name]] : []))[0];
  const { $ref: _, ...own } = schema;
  if (named) return { ...named, ...own };
  const choices = Array.isArray(schema.anyOf) ? schema.anyOf.filter((one) => isObject(one) && one.type !== "null") : [];
  const [only, ...more] = choices;
  if (isObject(only) && more.length === 0) return normalizeSchema({ ...schema, anyOf: null, ...only }, root);
  if (!Array.isArray(schema.type)) return schema;
  const types = schema.type.filter((type) => type !== "null");
  return types.length === 1 ? { ...schema, type: types[0] ?? null } : schema;
}

function optionsOf(schema: JsonObject): FormField["options"] | null {
  const values = Array.isArray(schema.enum) ? schema.enum : [];
  const fit = values.filter((one) => typeof one === "string" || typeof one === "number");
  return values.length > 0 && fit.length === values.length ? fit.map((value) => ({ value, label: String(value) })) : null;
}

function kindOf(schema: JsonObject, root: JsonObject): Partial<FormField> & Pick<FormField, "type"> | null {
  const options = optionsOf(schema);
  if (options) return { type: "select", options };
  const [min, max] = [number(schema.minimum), number(schema.maximum)];
  switch (schema.type) {
    case "integer":
      return { type: "number", min, max, step: number(schema.multipleOf) ?? 1 };
    case "number":
      return { type: "number", min, max, step: number(schema.multipleOf) };
    case "boolean":
      return { type: "boolean" };
    case "string": {
      if (schema.format === "date") return { type: "date" };
      if (schema.format === "date-time") return { type: "datetime" };
      const [min_length, max_length] = [number(schema.minLength), number(schema.maxLength)];
      return { type: (max_length ?? 0) > textareaLength ? "textarea" : "text", min_length, max_length };
    }
    case "array": {
      const several = isObject(schema.items) ? optionsOf(normalizeSchema(schema.items, root)) : null;
      return several ? { type: "multiselect", options: several } : null;
    }
    default:
      return null;
  }
}

function fieldOf(name: string, source: JsonObject, required: boolean, root: JsonObject): InputField {
  const schema = normalizeSchema(source, root);
  const kind = kindOf(schema, root);
  const preset = schema.default ?? undefined;
  const field: FormField = {
    name, required, type: "textarea",
    label: text(schema.title) ?? name,
    help: text(schema.description),
    ...(preset !== undefined && { default: kind ? preset : JSON.stringify(preset, null, 2) }),
    ...kind,
  };
  return { field, schema, isJson: kind === null };
}

/** Return the fields of an agent's input in the schema's order, or one JSON field for the whole input. */
export function inputFields(source: JsonObject | null | undefined): InputField[] {
  const root = source ?? {};
  const schema = normalizeSchema(root, root);
  if (!isObject(schema.properties)) {
    return [{ field: { name: WHOLE_INPUT, label: "JSON", type: "textarea", required: true, default: "{}" }, schema, isJson: true }];
  }
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties)
    .flatMap(([name, one]) => (isObject(one) ? [fieldOf(name, one, required.includes(name), root)] : []));
}
