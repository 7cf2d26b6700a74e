import { isEqual, type Json, type Action, type JsonObject } from "../api/types";
import { visible, visibleJson } from "../base/visible";
import type { Values } from "../form/values";
import { MarkedText } from "../widgets/marked-text";

const maxLength = 72;
const maxValueLength = 32;

/** Arguments in which agents describe a call; what runs is in the others. */
const ownWords = new Set(["comment", "description", "explanation", "intent", "justification", "purpose", "rationale", "reason", "reasoning", "thought", "why"]);

interface LineArgument {
  name: string;
  text: string;
  isWhole: boolean;
}

/** Return the first line of a text, up to a number of letters. */
function cut(text: string, most: number): { text: string; isWhole: boolean } {
  const [first = ""] = text.split("\n");
  if (first === text && text.length <= most) return { text, isWhole: true };
  return { text: `${first.slice(0, most - 1)}…`, isWhole: false };
}

/**
 * Return the arguments that fit into one line, and whether these are all.
 * The agent's own words come last, and only if nothing else is cut.
 */
export function mainArguments(args: Values, write: (value: Json | undefined) => string): [arguments: LineArgument[], isWhole: boolean] {
  const names = Object.keys(args);
  const own = names.filter((name) => ownWords.has(name.toLowerCase()));
  const main = own.length < names.length ? names.filter((name) => !own.includes(name)) : names;
  const most = (name: string) => Math.max(maxValueLength, Math.floor(maxLength / main.length) - name.length - 1);
  const whole = main.map((name): LineArgument => ({ name, ...cut(write(args[name]), most(name)) }));
  const words = own.filter((name) => !main.includes(name)).map((name): LineArgument => ({ name, ...cut(write(args[name]), maxValueLength) }));
  let room = maxLength;
  const all = whole.every(({ isWhole }) => isWhole) ? [...whole, ...words.filter(({ isWhole }) => isWhole)] : whole;
  const end = all.findIndex(({ name, text }, at) => (room -= name.length + 1 + text.length) < 0 && at > 0);
  const fitting = end < 0 ? all : all.slice(0, end);
  return [fitting, fitting.length === names.length];
}

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
