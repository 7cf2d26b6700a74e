import type { Json, JsonObject } from "../api/types";
import { isEqual, isObject } from "../api/json";

export type Schema = JsonObject;

const maxReferences = 16;

/** Return the schemas in a list. */
export const objectsIn = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isObject) : []);
export const propertiesOf = (schema: Schema): JsonObject => (isObject(schema.properties) ? schema.properties : {});

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
export const keywords = ["anyOf", "oneOf"] as const;

/** Take null out of a schema, and say whether it was an answer. */
export function withoutNull(root: Schema, schema: Schema): [schema: Schema, isNullable: boolean] {
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
export function merged(root: Schema, schema: Schema): Schema | null {
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
