import english from "../../../src/ringi/base/texts/en.json";
import type { FieldFault, ProblemError } from "../api/call";
import type { Request } from "../api/types";
import { formatBytes } from "../base/numbers";
import type { Strings } from ".";

/** The texts of codes in one language; the server has the same files. */
type Catalogue = typeof english;
type Texts = { readonly [code: string]: string };
type Params = { readonly [name: string]: unknown };
type Place = keyof NonNullable<Request["wording"]>;

const lookup = (texts: Texts, code: string) => (Object.hasOwn(texts, code) ? texts[code] : undefined);

/** Fill in a text; a placeholder whose name ends with `bytes` is a size, and `types` lists types of JSON. */
function fill(text: string, params: Params, { types, or }: Catalogue, language: string): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (name.endsWith("bytes") && typeof value === "number") return formatBytes(value, language);
    if (name === "types" && Array.isArray(value)) return value.map((type) => lookup(types, String(type)) ?? String(type)).join(or);
    return typeof value === "string" || typeof value === "number" ? String(value) : "…";
  });
}

/** Return the text for an error of a field; without a specific one, the server's detail if it can be translated. */
export function fieldText({ code, params, detail }: FieldFault, strings: Strings): string {
  const { texts, language } = strings;
  const text = code === "invalid" ? undefined : lookup(texts.fields, code);
  if (text !== undefined) return fill(text, params, texts, language);
  const own = recognized("details", detail, strings);
  return language === "en" || own !== detail ? own : texts.fields.invalid;
}

/** Return the name of a field for people; a path without one in the catalogue is returned without `data`. */
export const fieldName = (path: string, { texts }: Strings) => lookup(texts.names, path) ?? path.replace(/^data\./, "");

/** Return the text for a rule that the page checks itself. */
export const ruleText = (code: keyof Catalogue["fields"], params: FieldFault["params"], strings: Strings) =>
  fieldText({ field: "", code, params, detail: "" }, strings);

const codeByStatus: { readonly [status: number]: string } = {
  0: "unreachable", 401: "unauthenticated", 403: "forbidden", 404: "not_found", 413: "too_large", 422: "invalid", 429: "limit", 503: "unavailable",
};

/** Return the text for an error reply; while deciding, it says what became of the decision. */
export function problemText({ status, code, message = "" }: Pick<ProblemError, "status" | "code"> & { message?: string }, strings: Strings, isDeciding = false): string {
  const { texts } = strings;
  const own = recognized("details", message, strings);
  if (own !== message) return own;
  const sections: Texts[] = isDeciding ? [texts.decision, texts.problems] : [texts.problems];
  const codes = [code, codeByStatus[status]].filter((known) => known !== undefined);
  return codes.flatMap((known) => sections.map((section) => lookup(section, known))).find(Boolean)
    ?? (isDeciding ? texts.decision : texts.problems).failed;
}

function sentences(wording: NonNullable<Request["wording"]>[Place], texts: Catalogue, language: string): string {
  return (wording ?? []).map(({ code, params }) => fill(lookup(texts.sentences, code) ?? "", params ?? {}, texts, language)).join("\n\n");
}

/**
 * Return a text of a request in the reader's language if Ringi wrote it.
 *
 * An agent may send any wording, but the digest covers the text: it is translated only if the wording says exactly the same in English.
 */
export function translated(text: string, wording: Request["wording"], place: Place, { texts, language }: Strings): string {
  const own = wording?.[place];
  return own && sentences(own, english, "en") === text ? sentences(own, texts, language) : text;
}

/** The error of a tool call without a result. */
export const noResult = english.reasons.no_result;

/** Return a pattern for each text, which finds the values in its English. */
const patternsOf = (texts: Texts) => Object.entries(texts).map(([code, text]) => {
  const parts = text.split(/\{(\w+)\}/).map((part, at) => (at % 2 ? `(?<${part}>.*?)` : part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")));
  return [code, new RegExp(`^${parts.join("")}$`, "s")] as const;
});
const patterns = { reasons: patternsOf(english.reasons), details: patternsOf(english.details) };

/** Return a text of the server in the reader's language, recognized by its English; any other text stays. */
function recognized(section: keyof typeof patterns, text: string, strings: Strings): string {
  const { texts, language } = strings;
  for (const [code, pattern] of language === "en" ? [] : patterns[section]) {
    const found = pattern.exec(text);
    const params = Object.entries(found?.groups ?? {}).map(([name, value]) => [name, recognized(section, value, strings)]);
    if (found) return fill(lookup(texts[section], code) ?? text, Object.fromEntries(params) as Params, texts, language);
  }
  return text;
}

/** Return a stored reason in the reader's language if Ringi wrote it; a person's or an agent's own stays as written. */
export const reasonText = (reason: string, strings: Strings) => recognized("reasons", reason, strings);
