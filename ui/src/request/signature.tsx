import type { ReactNode } from "react";
import type { Action, Json, JsonObject } from "../api/types";
import { isEqual, type Values } from "../form/values";
import { visible, visibleJson } from "../widgets/visible";

const maxLength = 72;
const maxValueLength = 32;

function brief(value: Json | undefined): string {
  if (typeof value === "string" && value.length > maxValueLength) return "…";
  const text = value === undefined ? "?" : visibleJson(value);
  return text.length <= maxValueLength && !text.includes("\n") ? text : "…";
}

interface Part {
  name: string;
  text: string;
  change: ReactNode;
}

function partOf(name: string, args: JsonObject, edited: Values): Part {
  const [before, after] = [brief(args[name]), brief(edited[name])];
  if (isEqual(args[name], edited[name])) return { name, text: `${visible(name)}=${before}`, change: null };
  const text = `${visible(name)}=${before} → ${after}`;
  return { name, text, change: <>{visible(name)}=<del>{before}</del> → <ins>{after}</ins></> };
}

/** Return the parts that fit into one line, changed ones first, in the order of the call. */
function fittingParts(parts: Part[]): Part[] {
  let remaining = maxLength;
  const fitting = new Set<Part>();
  for (const part of parts.toSorted((one, other) => Number(Boolean(other.change)) - Number(Boolean(one.change)))) {
    remaining -= part.text.length;
    if (remaining < 0 && !part.change) break;
    fitting.add(part);
  }
  return parts.filter((part) => fitting.has(part));
}

function partsOf(args: JsonObject, edited: Values): [fitting: Part[], isWhole: boolean] {
  const parts = Object.keys({ ...args, ...edited }).map((name) => partOf(name, args, edited));
  const fitting = fittingParts(parts);
  return [fitting, fitting.length === parts.length];
}

export function signature(name: string, args: JsonObject): string {
  const [fitting, isWhole] = partsOf(args, args);
  return `${visible(name)}(${[...fitting.map(({ text }) => text), ...(isWhole ? [] : ["…"])].join(", ")})`;
}

/** Return whether the line leaves out an argument or a part of one. */
export function isShortened({ args }: Action): boolean {
  const [fitting, isWhole] = partsOf(args, args);
  return !isWhole || fitting.some(({ name }) => brief(args[name]) === "…");
}

interface SignatureProps {
  name: string;
  args: JsonObject;
  /** The arguments as they will be (or were) run, if a person changed them. */
  edited?: Values | undefined;
}

/** The call in one line with a person's changes; longer values are in the rows below. */
export function Signature({ name, args, edited = args }: SignatureProps) {
  const [fitting, isWhole] = partsOf(args, edited);
  return (
    <code className="signature" data-testid="signature">
      {visible(name)}(
      {fitting.map((part, index) => <span key={part.name}>{index > 0 && ", "}{part.change ?? part.text}</span>)}
      {!isWhole && (fitting.length > 0 ? ", …" : "…")})
    </code>
  );
}
