import { useState } from "react";
import { useSteer } from "../api/threads";
import type { Trouble } from "../api/operations";
import type { Thread } from "../api/types";
import { idOf, type Outcome, type Outcomes, type Row } from "./outcomes";

/** Retry rows, one request for each of their threads, and keep what became of each. */
export function useOutcomes() {
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const { mutateAsync } = useSteer("retry");
  const note = (troubles: Trouble[], outcome: Outcome) =>
    setOutcomes((old) => new Map([...old, ...troubles.map((trouble) => [idOf(trouble), { trouble, outcome }] as const)]));

  const retryThread = (thread: string, troubles: Trouble[]) => {
    note(troubles, { kind: "retrying" });
    return mutateAsync({ thread }).then(
      (after: Thread) => note(troubles, { kind: "retried", at: after.updated_at }),
      (error: Error) => note(troubles, { kind: "refused", error }),
    );
  };
  const retry = (rows: Row[]) => {
    const byThread = Map.groupBy(rows.map(({ trouble }) => trouble), ({ thread_id }) => thread_id);
    for (const [thread, troubles] of byThread) void retryThread(thread, troubles);
  };
  return {
    outcomes, retry,
    abandoned: (trouble: Trouble, thread: Thread) => note([trouble], { kind: "abandoned", at: thread.updated_at }),
    clear: () => setOutcomes((old) => new Map([...old].filter(([, { outcome }]) => !("at" in outcome)))),
  };
}
