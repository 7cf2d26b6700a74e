import type { FieldProblem } from "../api/call";
import type { FormField, Json, Request } from "../api/types";
import type { Strings } from "../strings";
import { fieldOfArgument } from "./arg-field";
import { editKey, type Draft } from "./draft";
import { drawnFields } from "./schema-field";

/** Numbers by their size, days by their text. */
function isAfter(one: Json | undefined, other: Json | undefined): boolean {
  if (typeof one === "number" && typeof other === "number") return one > other;
  return typeof one === "string" && typeof other === "string" && one > other;
}

function misfit({ type, min, max, min_length: least, max_length: most }: FormField, value: Json, strings: Strings): string | null {
  if (type === "text" || type === "textarea") {
    // The server counts characters, not the halves of those beyond the first 65,536.
    const length = typeof value === "string" ? [...value].length : 0;
    if (least && length < least) return strings.shortest(least);
    return most && length > most ? strings.longest(most) : null;
  }
  if (isAfter(min ?? undefined, value)) return strings.atLeast(String(min));
  return isAfter(value, max ?? undefined) ? strings.atMost(String(max)) : null;
}

/** The field at which a problem is shown, and what stands in it. */
function fieldAt(request: Request, { values, edited }: Draft, key: string): [FormField | null | undefined, Json | undefined] {
  const name = Object.keys(request.action?.args ?? {}).find((one) => editKey(request, one) === key);
  if (name === undefined) return [drawnFields(request).find((field) => field.name === key), values[key]];
  return [fieldOfArgument(request.action?.schema, name, request.action?.args[name] ?? null), edited[name]];
}

/** What the server refused, in this person's language where the field itself says the rule; else in the server's words. */
export function inOurWords(request: Request, draft: Draft, problems: FieldProblem[], strings: Strings): FieldProblem[] {
  return problems.map(({ field: key, message }) => {
    const [field, value] = fieldAt(request, draft, key);
    const said = field && value !== undefined ? misfit(field, value, strings) : null;
    return { field: key, message: said ?? message };
  });
}
