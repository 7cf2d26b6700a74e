import type { Request } from "../api/types";
import { actorName } from "../widgets/names";
import { declaredCard, quantity } from "../request/card";
import type { Strings } from "../strings";
import { sumOf } from "../base/numbers";
import { visible } from "../base/visible";

/** Return an amount with its unit, which is the text of a tool's author. */
export const amountText = (amount: number, unit: string | undefined, language: string) => visible(quantity(amount, unit, language));

/** Return the declared amount of a call with its unit; null without one. */
function amountOf(request: Request): { amount: number; unit: string | undefined } | null {
  const { amount, unit } = declaredCard(request) ?? {};
  return typeof amount === "number" ? { amount, unit } : null;
}

/** The declared amounts in one unit. */
interface Totals {
  unit: string | undefined;
  count: number;
  sum: number;
  least: number;
  greatest: number;
}

/** Return the sum and the extremes of the declared amounts, for each unit. */
export function totalsOf(requests: readonly Request[]): Totals[] {
  const amounts = Map.groupBy(requests.flatMap((request) => amountOf(request) ?? []), ({ unit }) => unit);
  return [...amounts].map(([unit, found]) => {
    const numbers = found.map(({ amount }) => amount);
    return { unit, count: numbers.length, sum: sumOf(numbers), least: Math.min(...numbers), greatest: Math.max(...numbers) };
  });
}

/** Return the declared amount of a call, else its target; null if neither is declared. */
export function objectOf(request: Request, language: string): string | null {
  const { amount, unit, target } = declaredCard(request) ?? {};
  if (typeof amount === "number") return amountText(amount, unit, language);
  const found = amount ?? target;
  return typeof found === "string" || typeof found === "number" ? visible(String(found)) : null;
}

/** Return who asks: the agent, and the person for whom its run was started. */
export function askerOf({ agent, asked_by: askedBy, starter }: Request, strings: Strings): string | null {
  const asker = (agent ?? askedBy ?? "").replace(/^agent:/, "");
  const name = asker && actorName(asker, strings);
  if (!name || !starter || starter === asker) return name || null;
  return strings.forPerson(name, actorName(starter, strings));
}

export const formatCount = (count: number, language: string) => new Intl.NumberFormat(language).format(count);
