import type { Action, Json, JsonObject } from "../api/types";
import { isEqual } from "../api/json";
import type { Values } from "../form/values";
import { MarkedText } from "../widgets/agent-text";
import { visible, visibleJson } from "../base/visible";
import { mainArguments } from "./main-arguments";

const maxValueLength = 32;

function brief(value: Json | undefined): string {
  if (typeof value === "string" && value.length > maxValueLength) return "…";
  const text = value === undefined ? "?" : visibleJson(value);
  return text.length <= maxValueLength && !text.includes("\n") ? text : "…";
}

const written = (value: Json | undefined) => (typeof value === "string" ? visibleJson(value) : brief(value));

/** Return the call in one line, for lists and where its arguments are folded. */
export function signature(name: string, args: JsonObject): string {
  const [fitting, isAll] = mainArguments(args, written);
  return `${visible(name)}(${[...fitting.map(({ name: argument, text }) => `${visible(argument)}=${text}`), ...(isAll ? [] : ["…"])].join(", ")})`;
}

/** Return whether the line leaves out an argument or a part of one. */
export function isShortened({ args }: Action): boolean {
  const [fitting, isAll] = mainArguments(args, written);
  return !isAll || fitting.some(({ text, isWhole }) => !isWhole || text === "…");
}

/** An argument before and after a person's change; of a long one the name alone. */
function Change({ name, before, after }: { name: string; before: string; after: string }) {
  if (before === "…" || after === "…") return <ins>{visible(name)}</ins>;
  return <>{visible(name)}=<del><MarkedText text={before} /></del> → <ins><MarkedText text={after} /></ins></>;
}

interface SignatureProps {
  name: string;
  args: JsonObject;
  /** The arguments as they will be (or were) run, if a person changed them. */
  edited?: Values | undefined;
}

/** The tool of the call and what a person changed in it; all arguments stand below. */
export function Signature({ name, args, edited = args }: SignatureProps) {
  const names = Object.keys({ ...args, ...edited });
  const changed = names.filter((each) => !isEqual(args[each], edited[each]));
  return (
    <code className="signature" data-testid="signature">
      <MarkedText text={visible(name)} />
      {changed.length > 0 && "("}
      {changed.map((each, index) => (
        <span key={each}>{index > 0 && ", "}<Change name={each} before={brief(args[each])} after={brief(edited[each])} /></span>
      ))}
      {changed.length > 0 && (changed.length < names.length ? ", …)" : ")")}
    </code>
  );
}
