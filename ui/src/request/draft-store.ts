import { useEffect, useState } from "react";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { isEqual } from "../api/json";
import { draftText, initialDraft, type Draft } from "./draft";

const maxDrafts = 50;
const root = "ringi.draft/";

interface StoredDraft {
  at: number;
  draft: Draft;
  /** The typed text, for places where the request itself is not available. */
  words: string;
}

/** The owner of a draft. Two people who share a browser never see each other's drafts. */
interface Owner {
  tenant: string;
  name: string;
}

export function useOwner(): Owner {
  const session = useSession().data;
  return { tenant: session?.tenant ?? "", name: session?.name ?? "" };
}

const part = encodeURIComponent;
const idPrefix = (owner: Owner, id: string) => `${root}${part(owner.tenant)}/${part(owner.name)}/${part(id)}/`;
const keyOf = (owner: Owner, request: Request) => idPrefix(owner, request.id) + part(request.digest);

function read(key: string): StoredDraft | null {
  try {
    const stored = JSON.parse(window.localStorage.getItem(key) ?? "null") as StoredDraft | null;
    return typeof stored?.at === "number" && typeof stored.draft === "object" ? stored : null;
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

export function removeDraft(key: string): void {
  try {
    window.localStorage.removeItem(key);
  } catch {
    // Without storage there is nothing to remove.
  }
}

function dropOldest(): void {
  const drafts = keysWith(root).map((key) => ({ key, at: read(key)?.at ?? 0 }));
  drafts.sort((one, other) => other.at - one.at);
  for (const { key } of drafts.slice(maxDrafts)) removeDraft(key);
}

function write(key: string, stored: StoredDraft): void {
  try {
    const isNew = window.localStorage.getItem(key) === null;
    window.localStorage.setItem(key, JSON.stringify(stored));
    if (isNew) dropOldest();
  } catch {
    // If the storage is full or blocked, the draft is lost on reload; typing must still work.
  }
}

/** Modes that are restored after a reload; all others restart at "deciding". */
const restoredModes = new Set<string>(["editing", "rejecting", "asking"]);

function save(owner: Owner, request: Request, draft: Draft): void {
  const key = keyOf(owner, request);
  const saved = { ...draft, mode: restoredModes.has(draft.mode) ? draft.mode : "deciding" } as const;
  if (isEqual({ ...saved, mode: "deciding" }, initialDraft(request))) removeDraft(key);
  else write(key, { at: Date.now(), draft: saved, words: draftText(request, draft) });
}

/** Keep this person's draft for this version of a request across reloads. */
export function useDraft(request: Request, owner: Owner): [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => ({ ...initialDraft(request), ...read(keyOf(owner, request))?.draft }));
  const { tenant, name } = owner;
  useEffect(() => save({ tenant, name }, request, draft), [tenant, name, request, draft]);
  return [draft, (change) => setDraft((old) => ({ ...old, ...change }))];
}

export function dropDraft(owner: Owner, request: Request): void {
  removeDraft(keyOf(owner, request));
}

/** Remove all drafts for a request, whether they were sent or not. */
export function dropAllDrafts(owner: Owner, id: string): void {
  for (const key of keysWith(idPrefix(owner, id))) removeDraft(key);
}

interface UnsentDraft {
  key: string;
  text: string;
}

/** Return the drafts for a request that were never sent, without the one that fills the form of `current`. */
export function unsentDrafts(owner: Owner, id: string, current?: Request): UnsentDraft[] {
  return keysWith(idPrefix(owner, id)).filter((key) => !current || key !== keyOf(owner, current)).flatMap((key) => {
    const text = read(key)?.words;
    return text ? [{ key, text }] : [];
  });
}
