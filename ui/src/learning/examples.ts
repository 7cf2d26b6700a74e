import type { Agent } from "../api/types";
import { isObject } from "../api/json";

const kana = /[぀-ヿ]/;
const han = /\p{Script=Han}/u;

function languageOf(text: string): string {
  if (kana.test(text)) return "ja";
  return han.test(text) ? "zh" : "en";
}

/** Return up to four example questions from the agent's schema, in this language if there are any. */
export function examplesOf({ input_schema: { properties } }: Agent, language: string): string[] {
  const query = isObject(properties) ? properties.query : undefined;
  const examples = isObject(query) && Array.isArray(query.examples) ? query.examples.filter((one) => typeof one === "string") : [];
  const translated = examples.filter((one) => languageOf(one) === language);
  return (translated.length > 0 ? translated : examples).slice(0, 4);
}
