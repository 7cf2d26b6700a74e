import type { Trouble } from "../api/operations";

/** The result of an action on a row. */
export type Outcome =
  | { kind: "retrying" }
  | { kind: "retried" | "abandoned"; at: string }
  | { kind: "refused"; error: Error };

export interface OutcomeRow {
  id: string;
  trouble: Trouble;
  outcome: Outcome | undefined;
  /** True if nothing is left to do. */
  isSettled: boolean;
  /** True if it was retried here and failed again. */
  isAgain: boolean;
}

export type Outcomes = ReadonlyMap<string, { trouble: Trouble; outcome: Outcome }>;

export const idOf = ({ kind, thread_id, request_id }: Trouble) => [kind, thread_id, request_id].filter(Boolean).join("/");

function isAgain(trouble: Trouble, outcome: Outcome | undefined): boolean {
  return outcome !== undefined && "at" in outcome && Date.parse(trouble.since) > Date.parse(outcome.at);
}

function rowOf(trouble: Trouble, outcomes: Outcomes): OutcomeRow {
  const id = idOf(trouble);
  const outcome = outcomes.get(id)?.outcome;
  const again = isAgain(trouble, outcome);
  return { id, trouble, outcome: again ? undefined : outcome, isSettled: !again && outcome !== undefined && "at" in outcome, isAgain: again };
}

/** Return the rows to show: the current problems, then those that were settled here. */
export function rowsOf(troubles: Trouble[], outcomes: Outcomes): OutcomeRow[] {
  const listed = new Set(troubles.map(idOf));
  const settled = [...outcomes].filter(([id, { outcome }]) => !listed.has(id) && "at" in outcome);
  return [
    ...troubles.map((trouble) => rowOf(trouble, outcomes)),
    ...settled.map(([id, { trouble, outcome }]) => ({ id, trouble, outcome, isSettled: true, isAgain: false })),
  ];
}

/** Return whether a retry is possible. */
export const canRetry = ({ trouble, isSettled, outcome }: OutcomeRow) =>
  trouble.can_retry && !isSettled && outcome?.kind !== "retrying";
