import type { JsonObject, Request } from "../api/types";
import { visible } from "../widgets/visible";
import { allowsExecution } from "./values";

/** The object of a costly approval; the person types its name to confirm. */
export interface Target {
  /** The argument that holds the name; null if the action or the kind is typed. */
  label: string | null;
  name: string;
}

const maxNameLength = 60;

function isName(value: unknown): value is string | number {
  if (typeof value === "number") return true;
  return typeof value === "string" && value.trim() !== "" && value.length <= maxNameLength && !value.includes("\n");
}

/**
 * Return the name to type before a costly request is approved; null for a routine request.
 *
 * The first argument that is a number or a short text is the name; else the action's name, else the kind.
 */
export function targetOf(request: Request, args: JsonObject): Target | null {
  if (request.priority !== "high" && request.priority !== "urgent") return null;
  if (!allowsExecution(request)) return null;
  if (!request.action) return { label: null, name: request.kind };
  const [label, value] = Object.entries(args).find(([, one]) => isName(one)) ?? [];
  return label === undefined
    ? { label: null, name: visible(request.action.name) }
    : { label: visible(label), name: visible(String(value)).trim() };
}

/** Normalize full-width characters of a Japanese keyboard. */
const normalize = (text: string) => text.normalize("NFKC").trim();

export const matchesTarget = (target: Target | null, input: string) => target === null || normalize(input) === normalize(target.name);
