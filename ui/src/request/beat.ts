import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import type { Decision, Request } from "../api/types";

/** Milliseconds after another kind of request appears in which keys decide nothing: they were meant for the one before. */
const quietTime = 500;
/** The number of equal answers in a row after which another kind of request asks for a second key. */
const habit = 5;

/** Requests of one kind come from the same agent, about the same tool, with the same stakes. */
const kindOf = ({ agent, action, kind, tier }: Request) => JSON.stringify([agent, action?.name ?? kind, tier ?? "low"]);

/** The rhythm of a person's keys: it breaks where the kind of request changes. */
export class Beat {
  #shown = { kind: "", since: Number.NEGATIVE_INFINITY };
  /** The equal answers by keys in a row. */
  #streak: { decision: Decision | null; kind: string; count: number } = { decision: null, kind: "", count: 0 };
  /** The request whose decision was begun with a key. */
  #pressedFor: string | null = null;
  #armed: { id: string; decision: Decision; since: number } | null = null;
  readonly #listeners = new Set<() => void>();

  /** Note that a request is in sight. */
  show(request: Request): void {
    const kind = kindOf(request);
    // The first request of a visit follows no other.
    const since = this.#shown.kind === "" ? Number.NEGATIVE_INFINITY : performance.now();
    if (this.#shown.kind !== kind) this.#shown = { kind, since };
    if (this.#armed && this.#armed.id !== request.id) this.#arm(null);
  }

  /** Return whether the request has been in sight for long enough that a key is meant for it. */
  isSettled(request: Request): boolean {
    return this.#shown.kind === kindOf(request) && performance.now() - this.#shown.since >= quietTime;
  }

  /** Return whether a key may decide now; after many equal answers, the first key on another kind asks for a second. */
  mayDecide(request: Request, decision: Decision): boolean {
    if (!this.isSettled(request)) return false;
    this.#pressedFor = request.id;
    const { count, decision: usual, kind } = this.#streak;
    // A rejection never asks for more work.
    if (decision === "reject" || count < habit || usual !== decision || kind === kindOf(request)) return true;
    const now = performance.now();
    const isDeliberate = this.armedFor(request.id) === decision && now - (this.#armed?.since ?? now) >= quietTime;
    this.#arm(isDeliberate ? null : { id: request.id, decision, since: now });
    return isDeliberate;
  }

  /** Count an answer that the server has. */
  record(request: Request, decision: Decision): void {
    const [kind, isByKey] = [kindOf(request), this.#pressedFor === request.id];
    const { count, decision: usual, kind: usualKind } = this.#streak;
    const goesOn = usual === decision && (count < habit || usualKind === kind);
    this.#streak = isByKey ? { decision, kind, count: goesOn ? count + 1 : 1 } : { decision: null, kind, count: 0 };
    this.#pressedFor = null;
  }

  /** Return the decision on a request that waits for a second key. */
  armedFor(id: string): Decision | null {
    return this.#armed?.id === id ? this.#armed.decision : null;
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #arm(armed: { id: string; decision: Decision; since: number } | null): void {
    this.#armed = armed;
    for (const listener of this.#listeners) listener();
  }
}

const beats = new WeakMap<QueryClient, Beat>();

/** Return the rhythm of this visit. */
export function useBeat(): Beat {
  const client = useQueryClient();
  const beat = beats.get(client) ?? new Beat();
  beats.set(client, beat);
  return beat;
}

/** Return the rhythm of this visit, and note in it that a request is in sight. */
export function useBeatOf(request: Request, isActive: boolean): Beat {
  const beat = useBeat();
  useEffect(() => {
    if (isActive) beat.show(request);
  }, [beat, request, isActive]);
  return beat;
}

/** Return the decision that waits for a second key. */
export function useArmedDecision({ id }: Request): Decision | null {
  const beat = useBeat();
  return useSyncExternalStore(beat.subscribe, () => beat.armedFor(id));
}
