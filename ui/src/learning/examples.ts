import type { Agent } from "../api/types";
import { isObject } from "../request/schema-field";

const kana = /[぀-ヿ]/;
const han = /\p{Script=Han}/u;

function languageOf(text: string): string {
  if (kana.test(text)) return "ja";
  return han.test(text) ? "zh" : "en";
}

/** What the agent itself gives as questions to begin with, in this language if there are any. */
export function examplesOf({ input_schema: { properties } }: Agent, language: string): string[] {
  const query = isObject(properties) ? properties.query : undefined;
  const given = isObject(query) && Array.isArray(query.examples) ? query.examples.filter((one) => typeof one === "string") : [];
  const own = given.filter((one) => languageOf(one) === language);
  return (own.length > 0 ? own : given).slice(0, 4);
}
