import type { FormField, Json, JsonObject } from "../api/types";
import { propertyOf, type Given } from "./schema-field";

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
  const common = { name, label: name, required: true, default: before };
  const wanted = propertyOf(schema, name);
  if (wanted && canShow(wanted.given, before)) return { ...wanted.given, ...common, help: wanted.help };
  const given = byValue(before);
  return given && { ...given, ...common };
}
