import type { Json } from "../api/types";
import type { Values } from "../form/values";

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
