import { plainDigits } from "../base/numbers";
import type { RequestStrings } from "../strings/detail";

/** A text in which nobody found one number yet; it stands for the number and is never sent. */
export type Unread = { unread: string };

export const isUnread = (value: unknown): value is Unread => typeof value === "object" && value !== null && typeof (value as Partial<Unread>).unread === "string";

export type Reading =
  | { kind: "empty" }
  | { kind: "number"; value: number }
  | { kind: "ambiguous"; whole: number; decimal: number }
  | { kind: "notation" | "too-large" }
  | { kind: "too-precise"; nearest: number };

const spaceOrQuote = [" ", "'"];

const partsIn = (language: string, numerals: "latn" | undefined) =>
  new Intl.NumberFormat(language, { useGrouping: "always", minimumFractionDigits: 2, ...(numerals && { numberingSystem: numerals }) }).formatToParts(12_345_678.5);

/** Return the notation of a language; of English for one that is not known. */
export function notationOf(language: string): Notation {
  try {
    const parts = [...partsIn(language, undefined), ...partsIn(language, "latn")];
    const signs = (type: "decimal" | "group") => parts.flatMap((part) => (part.type === type ? [plain(part.value)] : []));
    return {
      decimals: new Set(signs("decimal")), groups: new Set([...signs("group"), ...spaceOrQuote]), decimal: signs("decimal").at(-1) ?? ".",
      isIndian: parts.filter(({ type }) => type === "integer").at(-2)?.value.length === 2,
      example: new Intl.NumberFormat(language, { useGrouping: "always", numberingSystem: "latn" }).format(1234.56),
    };
  } catch {
    return notationOf("en");
  }
}

/** Return the value of a decimal digit of any script; each block of them begins with its zero. */
function digitValue(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value % 10);
}

/** Return a text with ASCII digits, signs, spaces and quotes; full-width letters become their narrow ones. */
export function plain(text: string): string {
  return text.replace(/[\uFF01-\uFF5E]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xFEE0))
    .replace(/\p{Nd}/gu, digitValue).replace(/[\u3002\uFF61]/g, ".").replace(/[\u3001\uFF64]/g, ",")
    .replace(/[\u2212\u2012\u2013]/g, "-").replace(/[\u2019\u02BC]/g, "'").replace(/[\u200E\u200F\u061C]/g, "").replace(/\s/g, " ").trim();
}

/** JSON writes larger ones with an exponent, which servers read as a fraction. */
const leastWithExponent = 1e21;

/** A longer text is no number that a person means, and an exponent could fill the memory with zeros. */
const maxLength = 400;

/** Return the number of a literal, or why the number that would be sent is not the one that was written. */
export function exactly(literal: string): Reading {
  const value = Number(literal);
  if (literal.length > maxLength || !Number.isFinite(value)) return { kind: "too-large" };
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < leastWithExponent) return { kind: "too-large" };
  if (value === 0 && /[1-9]/.test(literal.replace(/e.*/i, ""))) return { kind: "too-precise", nearest: 0 };
  return plainDigits(literal) === plainDigits(String(value)) ? { kind: "number", value } : { kind: "too-precise", nearest: value };
}

/** Return whether digits are grouped as a notation groups them, with one separator throughout. */
function isGrouped(whole: string, { groups, isIndian }: Notation): boolean {
  const [first = "", ...rest] = whole.split(/\D/);
  const separators = new Set(whole.match(/\D/g));
  if (separators.size !== 1 || ![...separators].every((one) => groups.has(one)) || rest.at(-1)?.length !== 3) return false;
  const hasGroupsOf = (size: number) => first.length > 0 && first.length <= size && rest.slice(0, -1).every((group) => group.length === size);
  return first[0] !== "0" && (hasGroupsOf(3) || (isIndian && hasGroupsOf(2)));
}

/** Read a number as it is written in a notation; what this notation cannot mean is no number. */
export function readNumber(text: string, notation: Notation): Reading {
  const source = plain(text);
  if (source === "") return { kind: "empty" };
  const [, sign = "", body = ""] = /^([-+]?)(.*)$/.exec(source) ?? [];
  const separators = body.match(/\D/g) ?? [];
  const last = separators.at(-1) ?? "";
  const isDecimal = notation.decimals.has(last) && separators.filter((one) => one === last).length === 1;
  const at = isDecimal ? body.lastIndexOf(last) : body.length;
  const [whole, fraction] = [body.slice(0, at), body.slice(at + 1)];
  const isPlain = /^\d*$/.test(whole);
  if (!/\d/.test(body) || !(isPlain || isGrouped(whole, notation))) return { kind: "notation" };
  // With three digits behind it, a person who is used to the other notation means the other number.
  if (/^[1-9]\d{0,2}[.,]\d{3}$/.test(body)) {
    const [digits, decimals] = body.split(/[.,]/);
    return { kind: "ambiguous", whole: Number(`${sign}${digits}${decimals}`), decimal: Number(`${sign}${digits}.${decimals}`) };
  }
  return exactly(`${sign}${whole.replaceAll(/\D/g, "")}${fraction && `.${fraction}`}`);
}

/** Return whether a text can mean a number. */
export function means(text: string, value: number, notation: Notation): boolean {
  const reading = readNumber(text, notation);
  return (reading.kind === "number" && reading.value === value) || (reading.kind === "ambiguous" && (reading.whole === value || reading.decimal === value));
}

/** Write a number for editing: every digit, and no group. */
export const writeNumber = (value: number, { decimal }: Notation) => plainDigits(String(value)).replace(".", decimal);

/** How numbers are written in the browser's first language. */
export interface Notation {
  decimals: ReadonlySet<string>;
  groups: ReadonlySet<string>;
  /** The sign before the decimals when the page writes a number. */
  decimal: string;
  /** Lakh and crore: the groups above the last one have two digits. */
  isIndian: boolean;
  example: string;
}

/** Return why digits cannot be stored exactly, in words; null if they can. */
export function lossText(reading: Reading, { numbers }: RequestStrings): string | null {
  if (reading.kind === "too-large") return numbers.tooLarge(String(Number.MAX_SAFE_INTEGER));
  return reading.kind === "too-precise" ? numbers.tooPrecise(plainDigits(String(reading.nearest))) : null;
}
