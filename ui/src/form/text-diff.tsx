import { createElement } from "react";
import { isEqual, type Json } from "../api/types";
import { visible } from "../base/visible";
import { MarkedText } from "../widgets/marked-text";

/** A stretch of text that is unchanged, removed or added. */
interface TextSegment {
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

const tags = { unchanged: "span", removed: "del", added: "ins" } as const satisfies Record<TextSegment["kind"], string>;

export function commonEnds(before: Json[], after: Json[]): [start: number, end: number] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && isEqual(before[start], after[start])) start += 1;
  let end = 0;
  while (end < most - start && isEqual(before.at(-1 - end), after.at(-1 - end))) end += 1;
  return [start, end];
}

/** A word-by-word difference of two long texts. */
export function TextDiff({ before, after }: { before: string; after: string }) {
  const pieces = textSegments(before, after).map(({ kind, text }) => createElement(tags[kind], null, <MarkedText text={visible(text)} />));
  return createElement("span", { className: "agent-text" }, ...pieces);
}
