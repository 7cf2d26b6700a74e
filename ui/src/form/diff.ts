import type { Json } from "../api/types";
import { isEqual, isObject } from "../api/json";

/** A path at which two JSON values differ; `undefined` means that the side has no value there. */
export interface Difference {
  path: string;
  before: Json | undefined;
  after: Json | undefined;
}

const isPlain = /^[A-Za-z_]\w*$/;

function childPath(path: string, key: string): string {
  if (!isPlain.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path ? `${path}.${key}` : key;
}

function commonEnds(before: Json[], after: Json[]): [start: number, end: number] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && isEqual(before[start], after[start])) start += 1;
  let end = 0;
  while (end < most - start && isEqual(before.at(-1 - end), after.at(-1 - end))) end += 1;
  return [start, end];
}

/** Compare two lists. An inserted item is one difference and does not shift the items after it. */
function listDifferences(before: Json[], after: Json[], path: string): Difference[] {
  const [start, end] = commonEnds(before, after);
  const [old, next] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  return Array.from({ length: Math.max(old.length, next.length) }, (_, index) =>
    differences(old[index], next[index], `${path}[${start + index}]`)).flat();
}

export function differences(before: Json | undefined, after: Json | undefined, path = ""): Difference[] {
  if (isEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return listDifferences(before, after, path);
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(before[key], after[key], childPath(path, key)));
}

/** A stretch of text that is unchanged, removed or added. */
export interface TextSegment {
  kind: "unchanged" | "removed" | "added";
  text: string;
}

/** Split a text into words, each with the characters that follow it. Emoji are never split. */
function splitWords(text: string): string[] {
  const found: string[] = [];
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
    if (isWordLike || found.length === 0) found.push(segment);
    else found.push((found.pop() ?? "") + segment);
  }
  return found;
}

/** Above this size a word-by-word comparison would block typing; the middle then counts as one change. */
const maxCells = 100_000;

/** Return the table of the longest common subsequence: the number of words shared from each pair of positions on. */
function commonWordCounts(before: string[], after: string[]): number[][] {
  if (before.length * after.length > maxCells) return [];
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

function middleSegments(before: string[], after: string[]): TextSegment[] {
  const shared = commonWordCounts(before, after);
  const pieces: TextSegment[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const left = shared[i]?.[j] ?? 0;
    if (left > 0 && before[i] === after[j]) {
      pieces.push({ kind: "unchanged", text: before[i] ?? "" });
      i += 1;
      j += 1;
    } else if (i < before.length && (shared[i + 1]?.[j] ?? 0) >= left) {
      pieces.push({ kind: "removed", text: before[i] ?? "" });
      i += 1;
    } else {
      pieces.push({ kind: "added", text: after[j] ?? "" });
      j += 1;
    }
  }
  return pieces;
}

function mergeSegments(pieces: TextSegment[]): TextSegment[] {
  const runs: TextSegment[] = [];
  for (const { kind, text } of pieces) {
    const last = runs.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text) runs.push({ kind, text });
  }
  return runs;
}

/** Merge two texts into segments that show the removed and the added words. */
export function textSegments(before: string, after: string): TextSegment[] {
  const [old, next] = [splitWords(before), splitWords(after)];
  const [start, end] = commonEnds(old, next);
  const middle = (all: string[]) => all.slice(start, all.length - end);
  return mergeSegments([
    { kind: "unchanged", text: old.slice(0, start).join("") },
    ...middleSegments(middle(old), middle(next)),
    { kind: "unchanged", text: old.slice(old.length - end).join("") },
  ]);
}
