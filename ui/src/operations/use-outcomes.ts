import { useState } from "react";
import { useSteer } from "../api/threads";
import type { Trouble } from "../api/operations";
import type { Thread } from "../api/types";
import { idOf, type Outcome, type Outcomes, type Row } from "./outcomes";

/** Retry rows, once for each of their threads, and keep what became of each row: what is done to a thread settles all of its rows. */
export function useOutcomes(troubles: Trouble[]) {
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const steers = { retry: useSteer("retry").mutateAsync, "ask-again": useSteer("ask-again").mutateAsync };
  const note = (rows: Trouble[], outcome: Outcome) =>
    setOutcomes((old) => new Map([...old, ...rows.map((trouble) => [idOf(trouble), { trouble, outcome }] as const)]));

  const of = (thread: string) => troubles.filter(({ thread_id }) => thread_id === thread);
  const retryThread = (thread: string, rows: Trouble[], how: keyof typeof steers) => {
    note(rows, { kind: "retrying" });
    return steers[how]({ thread }).then(
      (after: Thread) => note(rows, { kind: "retried", at: after.updated_at }),
      (error: Error) => note(rows, { kind: "refused", error }),
    );
  };
  const retry = (chosen: Row[], how: keyof typeof steers = "retry") => {
    const byThread = Map.groupBy(chosen.map(({ trouble }) => trouble), ({ thread_id }) => thread_id);
    for (const [thread, rows] of byThread) void retryThread(thread, [...of(thread), ...rows], how);
  };
  return {
    outcomes, retry,
    abandoned: (thread: Thread) => note(of(thread.id), { kind: "abandoned", at: thread.updated_at }),
    clear: () => setOutcomes((old) => new Map([...old].filter(([, { outcome }]) => !("at" in outcome)))),
  };
}
