import type { FactSubject, Json, JsonObject, Request } from "../api/types";
import type { Values } from "../form/values";
import { visible } from "../base/visible";
import { declaredCard, valueAt } from "./card";
import { allowsExecution } from "./decisions";

/** A fact about a call, and three other values that look like it. */
export interface Fact {
  subject: FactSubject;
  /** The name of the argument; empty for a tool or a kind. */
  name: string;
  right: string;
  others: string[];
}

const maxLength = 60;
const tools = ["list_items", "read_file", "send_message", "update_record", "create_user"];
const kinds: Request["kind"][] = ["approval", "form", "choice", "question", "finish", "learning"];

/** Return whether an approval takes one more step: by the tier alone, never by the priority. */
export const isConfirmed = (request: Request) =>
  (request.tier === "high" || request.tier === "irreversible") && allowsExecution(request);

function isFact(value: Json | undefined): value is string | number {
  if (typeof value === "number") return true;
  return typeof value === "string" && value.trim() !== "" && value.length <= maxLength && !value.includes("\n");
}

/** Return values that look like a text: ten times as much, a tenth, two letters swapped, another last digit. */
function variantsOf(text: string): string[] {
  const scaled = /^-?[1-9]\d*$/.test(text) ? [`${text}0`, ...(text.length > 2 ? [text.slice(0, -1)] : [])] : [];
  const letters = Array.from(text);
  const isSwap = (at: number) => letters[at] !== letters[at + 1] && /^[\p{L}\p{N}]{2}$/u.test(`${letters[at]}${letters[at + 1]}`) && !(at === 0 && letters[1] === "0");
  const at = letters.slice(1).map((_, place) => place).findLast(isSwap);
  const swapped = at === undefined ? [] : [[...letters.slice(0, at), letters[at + 1], letters[at], ...letters.slice(at + 2)].join("")];
  const digit = letters.findLastIndex((letter) => /[0-9]/.test(letter));
  const digits = digit < 0 ? [] : [1, 3, 5].map((more) => letters.with(digit, String((Number(letters[digit]) + more) % 10)).join(""));
  return [...scaled, ...swapped, ...digits, ...[2, 3, 4].map((number) => `${text}${number}`)];
}

const textOf = (value: string | number) => visible(String(value)).trim();

function factFrom(subject: Fact["subject"], name: string, right: string, pool: string[]): Fact {
  return { subject, name, right, others: [...new Set(pool)].filter((each) => each !== right).slice(0, 3) };
}

type Named = readonly [subject: Fact["subject"], path: string, value: string | number];

function factsOf(request: Request, args: Values | JsonObject): Named[] {
  const paths: [string, string | undefined][] = Object.entries(declaredCard(request)?.arguments ?? {});
  const declared = paths.map(([subject, path = ""]) => [subject as Fact["subject"], path, valueAt(args, path)] as const);
  const others = Object.entries(args).map(([name, value]) => ["argument", name, value] as const);
  const usable = [declared, others].map((facts) => facts.filter((fact): fact is Named => isFact(fact[2])));
  return usable.find((facts) => facts.length > 0) ?? [];
}

/** Return a number from the digest of a request. */
export const seedOf = ({ digest }: Request) => Number.parseInt(digest.slice(-8), 16) || 0;

/**
 * Return the fact to ask about before a call that cannot be undone; null for other requests.
 *
 * It comes from the call and the card of the tool's author, never from the agent's words: the amount or the target
 * that the card names, else an argument, else the tool. The terminal asks the same question.
 */
export function factOf(request: Request, args: Values | JsonObject): Fact | null {
  if (request.tier !== "irreversible" || !isConfirmed(request)) return null;
  if (!request.action) return factFrom("kind", "", request.kind, kinds);
  const facts = factsOf(request, args);
  const fact = facts[seedOf(request) % facts.length];
  if (!fact) return factFrom("tool", "", visible(request.action.name), tools);
  const [subject, path, value] = fact;
  const pool = [valueAt(request.action.args, path), ...(subject === "amount" ? [declaredCard(request)?.limit] : []), ...Object.values(args)];
  const alike = pool.filter(isFact).filter((each) => typeof each === typeof value).map(textOf);
  return factFrom(subject, visible(path), textOf(value), [...alike, ...variantsOf(textOf(value))]);
}

/** Return an order of values: the orders are counted as dictionaries list words. */
function ordered(values: string[], number: number): string[] {
  if (values.length < 2) return values;
  const size = values.slice(1).reduce((product, _, index) => product * (index + 1), 1);
  const first = Math.floor(number / size);
  return [values[first] ?? "", ...ordered(values.toSpliced(first, 1), number % size)];
}

/** Return the four values in the order of a seed; the next seed has another order. */
export const choicesOf = ({ right, others }: Fact, seed: number) => ordered([right, ...others], (seed * 7) % 24);
