import { createContext, Suspense, useContext, useMemo, useState, type ReactNode } from "react";
import { isObject, type Json } from "../api/types";
import { useKeys } from "../base/keys";
import { useRequestStrings } from "../strings/detail";
import { Loading } from "../widgets/loading";

/** The key that shows more of everything that is cut. */
export const showMoreKey = "o";

/** How much is shown: each step shows ten times more, and the last one everything. */
export interface Expansion {
  level: number;
  expand: () => void;
}

export const lastLevel = 3;

const ExpansionContext = createContext<Expansion | null>(null);

/** Return the expansion of the request around; without one, of the caller alone. */
export function useExpansion(): Expansion {
  const shared = useContext(ExpansionContext);
  const [level, setLevel] = useState(0);
  return shared ?? { level, expand: () => setLevel(level + 1) };
}

/** Everything below appears together, so that nothing moves, and is expanded together, also by a key. */
export function ExpansionProvider({ children }: { children: ReactNode }) {
  const strings = useRequestStrings();
  const [level, setLevel] = useState(0);
  const expansion = useMemo(() => ({ level, expand: () => setLevel((now) => now + 1) }), [level]);
  useKeys(strings.keysOfRequest, level < lastLevel ? [{ key: showMoreKey, label: strings.showFullText, run: expansion.expand }] : []);
  return <ExpansionContext value={expansion}><Suspense fallback={<Loading paragraph={{ rows: 6 }} />}>{children}</Suspense></ExpansionContext>;
}

const lines = 24;
const characters = 2_400;
/** A rest that is not longer than its cue is not cut. */
const rest = { lines: 3, characters: 240 };
const nodes = 60;

const limit = (base: number, level: number) => (level >= lastLevel ? Infinity : base * 10 ** level);

interface Clipped {
  text: string;
  /** What is left out: lines, or the characters of one line. */
  hidden: { lines: number; characters: number } | null;
}

function endOfLines(text: string, count: number): number {
  let at = -1;
  for (let line = 0; line < count; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) return text.length;
  }
  return at;
}

/** Return the beginning of a text that is shown at a level of expansion, and how much is left out. */
export function clipText(text: string, level: number): Clipped {
  const end = Math.min(limit(lines, level) === Infinity ? text.length : endOfLines(text, limit(lines, level)), limit(characters, level));
  const hiddenText = text.slice(end);
  const hiddenLines = hiddenText.split("\n").length - 1;
  if (hiddenText === "" || (hiddenLines <= rest.lines && hiddenText.length <= rest.characters)) return { text, hidden: null };
  // A character of two units stays whole.
  const whole = /[\uD800-\uDBFF]$/.test(text.slice(0, end)) ? end - 1 : end;
  return { text: text.slice(0, whole), hidden: { lines: hiddenLines, characters: text.length - whole } };
}

/** A value of a tree: its parts as far as they are shown, and the number of those that are left out. */
export interface TreeNode {
  key: string | null;
  value: Json;
  /** Null for a value without parts. */
  parts: TreeNode[] | null;
  size: number;
  hidden: number;
}

const partsOf = (value: Json): [string | null, Json][] | null => {
  if (Array.isArray(value)) return value.map((one) => [null, one]);
  return isObject(value) ? Object.entries(value) : null;
};

/** Return a tree with as many values as a level of expansion shows, the upper ones first. */
export function clipTree(value: Json, level: number): TreeNode {
  let left = limit(nodes, Math.min(level, lastLevel - 1));
  const root: TreeNode = { key: null, value, parts: null, size: 0, hidden: 0 };
  const queue = [root];
  for (let at = 0; at < queue.length; at += 1) {
    const node = queue[at];
    const parts = node ? partsOf(node.value) : null;
    if (!node || !parts) continue;
    const shown = parts.slice(0, Math.max(0, left)).map(([key, part]): TreeNode => ({ key, value: part, parts: null, size: 0, hidden: 0 }));
    left -= shown.length;
    Object.assign(node, { parts: shown, size: parts.length, hidden: parts.length - shown.length });
    queue.push(...shown);
  }
  return root;
}

/** Return whether a tree is cut anywhere. */
export const isClipped = (node: TreeNode): boolean => node.hidden > 0 || (node.parts ?? []).some(isClipped);
