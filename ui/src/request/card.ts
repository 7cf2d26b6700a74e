import { type Json, type JsonObject, type Request, isObject } from "../api/types";
import type { Values } from "../form/values";

/** What the author of a tool declares about one of its calls. */
export interface DeclaredCard {
  effect?: string;
  target?: Json;
  amount?: Json;
  unit?: string;
  limit?: number;
  above_limit?: boolean;
  /** True or false, or in what way the effect can be undone. */
  reversible?: boolean | string;
  /** The paths of the arguments with the target and the amount. */
  arguments?: { target?: string; amount?: string };
}

/** Return the card that a policy of the server declares; null for one that the asker wrote: those are its own words. */
export function declaredCard({ action, policy, context }: Request): DeclaredCard | null {
  return action && policy?.card === true && isObject(context.card) ? context.card : null;
}

/** Return the value at a path such as `customer.id`; undefined if there is none. */
export function valueAt(args: Values | JsonObject, path: string): Json | undefined {
  return path.split(".").reduce<Json | undefined>(
    (value, part) => (isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined), args as JsonObject,
  );
}

/** Return a card for other arguments, as a person edited them. */
export function cardWith(card: DeclaredCard, args: Values): DeclaredCard {
  const { target: targetPath, amount: amountPath } = card.arguments ?? {};
  const { target: _target, amount: _amount, above_limit: _above, ...others } = card;
  const [target, amount] = [targetPath, amountPath].map((path) => (path === undefined ? undefined : valueAt(args, path) ?? undefined));
  // An amount that is no number may be above the limit.
  const isAbove = card.limit !== undefined && !(typeof amount === "number" && amount <= card.limit);
  return { ...others, ...(target !== undefined && { target }), ...(amount !== undefined && { amount }), ...(isAbove && { above_limit: true }) };
}

/** Return whether a unit is a currency: a code of three letters. */
export const isCurrency = (unit: string | undefined): unit is string => unit !== undefined && /^[A-Z]{3}$/.test(unit);

/** Return a number with its unit. */
export function quantity(value: number, unit: string | undefined, language: string): string {
  const exact = { maximumFractionDigits: 20, trailingZeroDisplay: "stripIfInteger" } as const;
  if (isCurrency(unit)) return value.toLocaleString(language, { ...exact, style: "currency", currency: unit });
  return [value.toLocaleString(language, exact), unit].filter(Boolean).join(" ");
}

/** Return the ends of the axis: all amounts with some air, from zero if it is not far, and nothing below zero that no amount is. */
export function axisOf(amounts: readonly number[]): { min: number; max: number } {
  const [least, most] = [Math.min(...amounts), Math.max(...amounts)];
  if (least === 0 && most === 0) return { min: 0, max: 1 };
  const air = (most - least || Math.abs(most) || 1) * 0.05;
  const min = least >= 0 && least <= (most - least) / 2 ? 0 : least - air;
  return { min: least < 0 ? min : Math.max(0, min), max: most > 0 ? most + air : Math.min(0, most + air) };
}
