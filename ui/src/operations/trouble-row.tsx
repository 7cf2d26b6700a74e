import { Button, Checkbox, Flex, Tag } from "antd";
import { useEffect, useRef } from "react";
import type { Thread } from "../api/types";
import { useStrings, type Strings } from "../strings";
import { dayAndTime } from "../widgets/time-format";
import { explain } from "../widgets/problem";
import { Link, requestPath, threadPagePath } from "../base/router";
import { visible } from "../base/visible";
import { ConfirmStop } from "../pauses/confirm-stop";
import { canRetry, type OutcomeRow } from "./outcomes";
import { FailureReason } from "../thread/failure-reason";

function Outcome({ row }: { row: OutcomeRow }) {
  const strings = useStrings();
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

function refusalOf({ trouble }: OutcomeRow, strings: Strings): string | null {
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
  const strings = useStrings();
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
  const strings = useStrings();
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
          <Outcome row={row} />
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
