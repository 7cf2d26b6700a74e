import type { Json } from "../api/types";
import { isObject } from "./schema-field";
import { same } from "./values";

/** One place in which two JSON values differ; a side that is undefined is not there. */
export interface Difference {
  path: string;
  before: Json | undefined;
  after: Json | undefined;
}

const isPlain = /^[A-Za-z_]\w*$/;

function below(path: string, key: string): string {
  if (!isPlain.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path ? `${path}.${key}` : key;
}

function commonEnds(before: Json[], after: Json[]): [start: number, end: number] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && same(before[start], after[start])) start += 1;
  let end = 0;
  while (end < most - start && same(before.at(-1 - end), after.at(-1 - end))) end += 1;
  return [start, end];
}

/** An item that is put into the middle of a list changes one place, not all that follow it. */
function inLists(before: Json[], after: Json[], path: string): Difference[] {
  const [start, end] = commonEnds(before, after);
  const [old, fresh] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  return Array.from({ length: Math.max(old.length, fresh.length) }, (_, index) =>
    differences(old[index], fresh[index], `${path}[${start + index}]`)).flat();
}

export function differences(before: Json | undefined, after: Json | undefined, path = ""): Difference[] {
  if (same(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return inLists(before, after, path);
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(before[key], after[key], below(path, key)));
}

/** A run of words that stays, goes, or comes. */
export interface Piece {
  kind: "kept" | "gone" | "new";
  text: string;
}

/** Whole words, each with what follows it: half of an emoji would be shown as something that nobody wrote. */
function words(text: string): string[] {
  const found: string[] = [];
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
    if (isWordLike || found.length === 0) found.push(segment);
    else found.push((found.pop() ?? "") + segment);
  }
  return found;
}

/** Comparing long texts word by word would hold up the typing; between their common ends they are one change. */
const mostCells = 100_000;

/** Return how many words two texts share from each pair of places on. */
function sharedFrom(before: string[], after: string[]): number[][] {
  if (before.length * after.length > mostCells) return [];
  const shared = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0));
  const at = (i: number, j: number) => shared[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const row = shared[i];
      if (row) row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return shared;
}

function middlePieces(before: string[], after: string[]): Piece[] {
  const shared = sharedFrom(before, after);
  const pieces: Piece[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const left = shared[i]?.[j] ?? 0;
    if (left > 0 && before[i] === after[j]) {
      pieces.push({ kind: "kept", text: before[i] ?? "" });
      i += 1;
      j += 1;
    } else if (i < before.length && (shared[i + 1]?.[j] ?? 0) >= left) {
      pieces.push({ kind: "gone", text: before[i] ?? "" });
      i += 1;
    } else {
      pieces.push({ kind: "new", text: after[j] ?? "" });
      j += 1;
    }
  }
  return pieces;
}

function joined(pieces: Piece[]): Piece[] {
  const runs: Piece[] = [];
  for (const { kind, text } of pieces) {
    const last = runs.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text) runs.push({ kind, text });
  }
  return runs;
}

/** Two texts as one, with the words that go and the words that come. */
export function textPieces(before: string, after: string): Piece[] {
  const [old, fresh] = [words(before), words(after)];
  const [start, end] = commonEnds(old, fresh);
  const middle = (all: string[]) => all.slice(start, all.length - end);
  return joined([
    { kind: "kept", text: old.slice(0, start).join("") },
    ...middlePieces(middle(old), middle(fresh)),
    { kind: "kept", text: old.slice(old.length - end).join("") },
  ]);
}
