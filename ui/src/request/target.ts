import type { JsonObject, Request } from "../api/types";
import { visible } from "../widgets/visible";
import { isGated } from "./values";

/** What a costly approval is about: the person types its name. */
export interface Target {
  /** The argument that names it; null where the action itself or the kind is what is typed. */
  label: string | null;
  name: string;
}

const longest = 60;

function isName(value: unknown): value is string | number {
  if (typeof value === "number") return true;
  return typeof value === "string" && value.trim() !== "" && value.length <= longest && !value.includes("\n");
}

/**
 * Return what has to be typed before a costly request is approved; null for the routine.
 *
 * The first argument that is a number or a short text names the target; else the action does, else the kind.
 */
export function targetOf(request: Request, args: JsonObject): Target | null {
  if (request.priority !== "high" && request.priority !== "urgent") return null;
  if (!isGated(request)) return null;
  if (!request.action) return { label: null, name: request.kind };
  const [label, value] = Object.entries(args).find(([, one]) => isName(one)) ?? [];
  return label === undefined
    ? { label: null, name: visible(request.action.name) }
    : { label: visible(label), name: visible(String(value)).trim() };
}

/** Full-width digits of a Japanese keyboard mean the same. */
const plain = (text: string) => text.normalize("NFKC").trim();

export const isNamed = (target: Target | null, typed: string) => target === null || plain(typed) === plain(target.name);
