import type { Json, JsonObject } from "../api/types";
import { isObject } from "../api/json";

/** Parts of a value whose JSON is not valid (yet), with the text as typed. */
const texts = new WeakMap<JsonObject, string>();

/** Return a stand-in for a part that is not valid JSON yet. */
export function unfinished(text: string): JsonObject {
  const part = {};
  texts.set(part, text);
  return part;
}

/** Numbers in which nobody found one number yet, with the text as typed. */
const numbers = new WeakMap<JsonObject, string>();

/** Return a stand-in for a number that is not read yet; see `Unread`. */
export function unfinishedNumber(text: string): JsonObject {
  const part = {};
  numbers.set(part, text);
  return part;
}

export const unreadText = (value: Json | undefined) => (isObject(value) ? numbers.get(value) : undefined);

export const unfinishedText = (value: Json | undefined) => (isObject(value) ? texts.get(value) : undefined);

/** Return a value as JSON text with its unfinished parts as they were typed; null if it has none. */
export function textWithUnfinished(value: Json | undefined): string | null {
  const found: string[] = [];
  const mark = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const source = JSON.stringify(value, (_key, part: Json) => {
    const number = unreadText(part);
    // As JSON it would be one of the numbers that it can mean.
    const text = number === undefined ? unfinishedText(part) : `${number}?`;
    if (text === undefined) return part;
    found.push(text);
    return `${mark}-${found.length - 1}`;
  }, 2);
  if (found.length === 0) return null;
  return found.reduce((text, part, at) => text.replace(`"${mark}-${at}"`, () => part), source);
}
