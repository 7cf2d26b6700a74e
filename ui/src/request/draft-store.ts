import { useEffect, useState } from "react";
import type { Request } from "../api/types";
import { freshDraft, wordsOf, type Draft } from "./draft";
import { same } from "./values";

const most = 50;
const root = "ringi.draft/";

interface Kept {
  at: number;
  draft: Draft;
  /** What was typed, to be read where the question itself is not at hand. */
  words: string;
}

/** Whose draft: two people at one browser do not read each other's. */
export interface Owner {
  tenant: string;
  name: string;
}

const part = encodeURIComponent;
const idPrefix = (owner: Owner, id: string) => `${root}${part(owner.tenant)}/${part(owner.name)}/${part(id)}/`;
const keyOf = (owner: Owner, request: Request) => idPrefix(owner, request.id) + part(request.digest);

function read(key: string): Kept | null {
  try {
    const kept = JSON.parse(window.localStorage.getItem(key) ?? "null") as Kept | null;
    return typeof kept?.at === "number" && typeof kept.draft === "object" ? kept : null;
  } catch {
    return null;
  }
}

function keysWith(prefix: string): string[] {
  try {
    return Object.keys(window.localStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}

export function forget(key: string): void {
  try {
    window.localStorage.removeItem(key);
  } catch {
    // A browser that keeps nothing has nothing to forget.
  }
}

function dropOldest(): void {
  const kept = keysWith(root).map((key) => ({ key, at: read(key)?.at ?? 0 }));
  kept.sort((one, other) => other.at - one.at);
  for (const { key } of kept.slice(most)) forget(key);
}

function write(key: string, kept: Kept): void {
  try {
    const isNew = window.localStorage.getItem(key) === null;
    window.localStorage.setItem(key, JSON.stringify(kept));
    if (isNew) dropOldest();
  } catch {
    // A full or closed store costs the draft its reload, and must not cost the person what they type now.
  }
}

/** Steps that somebody comes back to; the others begin anew. */
const lasting = new Set<string>(["editing", "rejecting", "asking"]);

function keep(owner: Owner, request: Request, draft: Draft): void {
  const key = keyOf(owner, request);
  const worth = { ...draft, mode: lasting.has(draft.mode) ? draft.mode : "deciding" } as const;
  if (same({ ...worth, mode: "deciding" }, freshDraft(request))) forget(key);
  else write(key, { at: Date.now(), draft: worth, words: wordsOf(request, draft) });
}

/** What this person typed about this very version of a question, over reloads. */
export function useDraft(request: Request, owner: Owner): [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => ({ ...freshDraft(request), ...read(keyOf(owner, request))?.draft }));
  const { tenant, name } = owner;
  useEffect(() => keep({ tenant, name }, request, draft), [tenant, name, request, draft]);
  return [draft, (change) => setDraft((old) => ({ ...old, ...change }))];
}

export function dropDraft(owner: Owner, request: Request): void {
  forget(keyOf(owner, request));
}

/** Forget all that was typed about a request, sent or not. */
export function dropWords(owner: Owner, id: string): void {
  for (const key of keysWith(idPrefix(owner, id))) forget(key);
}

export interface KeptWords {
  key: string;
  words: string;
}

/** What was typed about a request and never sent; without that about `shown`, which stands in its fields. */
export function keptWords(owner: Owner, id: string, shown?: Request): KeptWords[] {
  return keysWith(idPrefix(owner, id)).filter((key) => !shown || key !== keyOf(owner, shown)).flatMap((key) => {
    const words = read(key)?.words;
    return words ? [{ key, words }] : [];
  });
}
