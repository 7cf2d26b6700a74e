import { useState } from "react";
import { useRunAction } from "../api/threads";
import type { Trouble } from "../api/operations";
import type { Thread } from "../api/types";
import { idOf, type Outcome, type Outcomes, type OutcomeRow } from "./outcomes";

/** Retry rows, once per thread, and record the result on all rows of that thread. */
export function useOutcomes(troubles: Trouble[]) {
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const actions = { retry: useRunAction("retry").mutateAsync, "ask-again": useRunAction("ask-again").mutateAsync };
  const record = (rows: Trouble[], outcome: Outcome) =>
    setOutcomes((old) => new Map([...old, ...rows.map((trouble) => [idOf(trouble), { trouble, outcome }] as const)]));

  const troublesOf = (thread: string) => troubles.filter(({ thread_id }) => thread_id === thread);
  const retryThread = (thread: string, rows: Trouble[], how: keyof typeof actions) => {
    record(rows, { kind: "retrying" });
    return actions[how]({ thread }).then(
      (after: Thread) => record(rows, { kind: "retried", at: after.updated_at }),
      (error: Error) => record(rows, { kind: "refused", error }),
    );
  };
  const retry = (selectedRows: OutcomeRow[], how: keyof typeof actions = "retry") => {
    const byThread = Map.groupBy(selectedRows.map(({ trouble }) => trouble), ({ thread_id }) => thread_id);
    for (const [thread, rows] of byThread) void retryThread(thread, [...troublesOf(thread), ...rows], how);
  };
  return {
    outcomes, retry,
    abandoned: (thread: Thread) => record(troublesOf(thread.id), { kind: "abandoned", at: thread.updated_at }),
    clear: () => setOutcomes((old) => new Map([...old].filter(([, { outcome }]) => !("at" in outcome)))),
  };
}
