import { useInfiniteQuery } from "@tanstack/react-query";
import { Button, Checkbox, Flex, Tag } from "antd";
import { useState, useEffect, useRef } from "react";
import { call } from "../api/call";
import type { Trouble } from "../api/schema";
import { useRunAction } from "../api/threads";
import type { Page, Thread } from "../api/types";
import { Link, requestPath, threadPagePath } from "../base/router";
import { visible } from "../base/visible";
import { useOperationsStrings } from "../strings/operations";
import { ConfirmStop } from "../pauses/confirm-stop";
import { FailureReason } from "../thread/failure-reason";
import { explain } from "../widgets/problem";
import { dayAndTime } from "../widgets/time-format";

export type { Trouble };

function path(cursor: string | null): string {
  return `/v1/operations?${new URLSearchParams({ limit: "100", ...(cursor && { cursor }) }).toString()}`;
}

/** The runs that cannot continue by themselves, polled while mounted. */
export function useTroubles() {
  return useInfiniteQuery({
    queryKey: ["operations"],
    queryFn: ({ pageParam }) => call<Page<Trouble>>("GET", path(pageParam)),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    refetchInterval: 3_000,
  });
}

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

function failedAgain(trouble: Trouble, outcome: Outcome | undefined): boolean {
  return outcome !== undefined && "at" in outcome && Date.parse(trouble.since) > Date.parse(outcome.at);
}

function rowOf(trouble: Trouble, outcomes: Outcomes): OutcomeRow {
  const id = idOf(trouble);
  const outcome = outcomes.get(id)?.outcome;
  const again = failedAgain(trouble, outcome);
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

function OutcomeLine({ row }: { row: OutcomeRow }) {
  const strings = useOperationsStrings();
  const { outcome, isAgain } = row;
  if (isAgain) return <Tag color="error">{strings.outcomeFailedAgain}</Tag>;
  switch (outcome?.kind) {
    case "retrying":
      return <Tag color="processing">{strings.retrying}</Tag>;
    case "retried":
      return <Tag color="success">{strings.outcomeRetried}</Tag>;
    case "abandoned":
      return <Tag>{strings.outcomeAbandoned}</Tag>;
    case "refused":
      return <span className="error-text">{explain(outcome.error, strings)}</span>;
    default:
      return null;
  }
}

function refusalOf({ trouble }: OutcomeRow, strings: ReturnType<typeof useOperationsStrings>): string | null {
  if (trouble.kind === "request" && trouble.agent === null) return strings.threadMissing;
  return trouble.can_retry ? null : strings.cannotRetry;
}

/** Focus the row when its focused control disappears. */
function useKeepFocus(isPlain: boolean) {
  const place = useRef<HTMLLIElement>(null);
  const before = useRef(isPlain);
  useEffect(() => {
    if (before.current !== isPlain && document.activeElement === document.body) {
      place.current?.querySelector("a")?.focus({ preventScroll: true });
    }
    before.current = isPlain;
  }, [isPlain]);
  return place;
}

const nameOf = ({ trouble }: OutcomeRow) => visible(trouble.title ?? trouble.thread_id);

interface TroubleRowProps {
  row: OutcomeRow;
  /** Undefined without admin rights. */
  actions: {
    selected: boolean;
    select: (selected: boolean) => void;
    retry: () => void;
    askAgain: () => void;
    stopping: boolean;
    stop: (stopping: boolean) => void;
    abandoned: (thread: Thread) => void;
  } | undefined;
}

function Buttons({ row, actions }: TroubleRowProps) {
  const strings = useOperationsStrings();
  const isGone = row.trouble.kind === "request" && row.trouble.agent === null;
  if (!actions || row.isSettled || actions.stopping) return null;
  return (
    <Flex gap="small" wrap>
      <Button
        type="primary" disabled={!canRetry(row)} loading={row.outcome?.kind === "retrying"} onClick={actions.retry} data-testid="retry"
      >
        {strings.retryRun}
      </Button>
      {row.trouble.can_ask_again && (
        <Button disabled={!canRetry(row)} onClick={actions.askAgain} data-testid="ask-again">{strings.askAgain}</Button>
      )}
      <Button danger disabled={isGone} onClick={() => actions.stop(true)} data-testid="abandon">{strings.stopActions.abandon.open}</Button>
    </Flex>
  );
}

/** One run that cannot continue: its name, time, reason and actions. */
export function TroubleRow({ row, actions }: TroubleRowProps) {
  const strings = useOperationsStrings();
  const { trouble } = row;
  const refusal = row.isSettled ? null : refusalOf(row, strings);
  const thread = trouble.thread_id;
  const place = useKeepFocus(row.isSettled || !actions?.stopping);
  return (
    <li ref={place} className="trouble" data-testid="trouble" data-id={row.id} data-kind={trouble.kind} data-outcome={row.isAgain ? "again" : row.outcome?.kind}>
      {actions && (
        <Checkbox
          checked={actions.selected} disabled={!canRetry(row)} aria-label={strings.selectRow(nameOf(row))}
          onChange={(event) => actions.select(event.target.checked)}
        />
      )}
      <div className="trouble-body">
        <div className="trouble-head">
          <Link to={threadPagePath(thread)} className="trouble-name">{nameOf(row)}</Link>
          <OutcomeLine row={row} />
        </div>
        <div className="quiet trouble-facts">
          <span>{trouble.kind === "thread" ? strings.failedRun : strings.stuckRequest}</span>
          {trouble.agent && <span>{visible(trouble.agent)}</span>}
          {trouble.kind === "request" && <span>{strings.thread} {visible(thread)}</span>}
          {trouble.request_id && <Link to={requestPath(trouble.request_id)}>{strings.openRequest}</Link>}
          <span>{strings.since} <time dateTime={trouble.since}>{dayAndTime(Date.parse(trouble.since), strings.language)}</time></span>
        </div>
        <FailureReason why={trouble.why} />
        {refusal && <p className="quiet">{refusal}</p>}
        <Buttons row={row} actions={actions} />
        {actions?.stopping && (
          <ConfirmStop thread={thread} how="abandon" onBack={() => actions.stop(false)} onDone={actions.abandoned} />
        )}
      </div>
    </li>
  );
}
