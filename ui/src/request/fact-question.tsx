import { Alert, Radio } from "antd";
import { useId, useRef, useState } from "react";
import type { FactSubject, Json, JsonObject, Request } from "../api/types";
import { useKeys } from "../base/keys";
import { visible } from "../base/visible";
import type { Values } from "../form/values";
import { useRequestStrings } from "../strings/detail";
import { declaredCard, valueAt } from "./card";
import { allowsExecution } from "./decisions";

/** A fact about a call, and three other values that look like it. */
interface Fact {
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

/** The answer to the question of fact before a call that cannot be undone. */
export interface FactState {
  fact: Fact | null;
  choices: string[];
  chosen: string | null;
  choose: (value: string) => void;
  /** True after a wrong answer, until the next choice. */
  isWrong: boolean;
  /** Return whether the answer is right; a wrong one is cleared, and the choices come in another order. */
  check: () => boolean;
  clear: () => void;
}

export function useFact(request: Request, args: Values): FactState {
  const [chosen, setChosen] = useState<string | null>(null);
  const [wrongAnswers, setWrongAnswers] = useState(0);
  const [isWrong, setIsWrong] = useState(false);
  const fact = factOf(request, args);
  const choose = (value: string | null) => {
    setChosen(value);
    setIsWrong(false);
  };
  const check = () => {
    if (fact === null || chosen === fact.right) return true;
    setChosen(null);
    setWrongAnswers(wrongAnswers + 1);
    setIsWrong(true);
    return false;
  };
  return { fact, choices: fact ? choicesOf(fact, seedOf(request) + wrongAnswers) : [], chosen, choose, isWrong, check, clear: () => choose(null) };
}

/** Ask what the call does; who has not read it cannot answer. */
export function FactQuestion({ state, isLocked }: { state: FactState; isLocked: boolean }) {
  const strings = useRequestStrings();
  const { stakes } = strings;
  const { fact, choices, chosen, choose, isWrong } = state;
  const id = useId();
  const area = useRef<HTMLFieldSetElement>(null);
  const shown = (value: string) => (fact?.subject === "kind" ? strings.kinds[value as Request["kind"]] : value);
  const chooseAt = (index: number, value: string) => {
    choose(value);
    area.current?.querySelectorAll("input")[index]?.focus();
  };
  useKeys(stakes.keysOfQuestion, fact && !isLocked
    ? choices.map((value, index) => ({ key: String(index + 1), label: shown(value), run: () => chooseAt(index, value), once: true })) : []);
  if (!fact) return null;
  return (
    <fieldset ref={area} className="fact-question" data-testid="fact-question" aria-describedby={isWrong ? `${id}-wrong` : undefined}>
      <legend id={id}>{stakes.question[fact.subject](fact.name)}</legend>
      <Radio.Group
        aria-labelledby={id} vertical disabled={isLocked} value={chosen} onChange={({ target }) => choose(String(target.value))}
        options={choices.map((value, index) => ({
          value, label: <span data-testid={`fact-choice-${index + 1}`}><kbd className="key-hint" aria-hidden>{index + 1}</kbd><code>{shown(value)}</code></span>,
        }))}
      />
      <div aria-live="assertive" id={`${id}-wrong`}>
        {isWrong && <Alert type="error" showIcon role="presentation" title={stakes.wrongAnswer} data-testid="fact-wrong" />}
      </div>
    </fieldset>
  );
}
