import type { FormField, Json, JsonObject } from "../api/types";
import { propertyOf, type ControlSpec } from "./schema-field";

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
