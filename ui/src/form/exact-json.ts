import type { Json } from "../api/types";
import { exactly, type Reading } from "./number-text";

/** Return the first number of valid JSON whose digits would not be sent as they are written, with its place. */
export function inexactNumber(json: string): { reading: Reading; offset: number } | null {
  for (const { 0: token, index } of json.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token.startsWith('"')) continue;
    const reading = exactly(token);
    if (reading.kind !== "number") return { reading, offset: index };
  }
  return null;
}

/** Return the value of JSON; undefined if it is not valid, or if a number would change. */
export function parseExact(json: string): Json | undefined {
  try {
    const value = JSON.parse(json) as Json;
    return inexactNumber(json) ? undefined : value;
  } catch {
    return undefined;
  }
}
