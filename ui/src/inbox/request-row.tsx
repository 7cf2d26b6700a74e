import { Checkbox, Tag } from "antd";
import { memo, useState, type MouseEvent } from "react";
import type { Request } from "../api/types";
import { decisionLabel, outcomeOf, titleOf } from "../request/outcome";
import type { OwnPart } from "../request/voting";
import { useStrings, type Strings } from "../strings";
import { basePath } from "../widgets/base-path";
import { Countdown, useNow } from "../widgets/time";
import { visible } from "../widgets/visible";
import { requestUrl } from "./inbox-url";
import { Age } from "./age";
import type { BulkStatus } from "./bulk";
import { useLongPress } from "./long-press";
import type { InboxRow } from "./stable-rows";

export interface RowActions {
  open: (id: string) => void;
  /** Select or unselect; with `range`, everything up to here. */
  select: (id: string, range: boolean) => void;
  onFocus: (id: string) => void;
}

interface RowProps extends InboxRow {
  actions: RowActions;
  position: number;
  size: number;
  /** True if this request is open. */
  current: boolean;
  /** True if Tab reaches this row. */
  active: boolean;
  selected: boolean;
  /** True if a tap selects the row, because other rows are selected. */
  isSelecting: boolean;
  /** The reason if the row cannot be selected. */
  refusal: string | null;
  bulkStatus: BulkStatus | undefined;
  /** What this person has done on a pending request. */
  ownPart: OwnPart;
  /** The row's offset from the top of the list, in pixels. */
  start: number;
}

const lateFraction = 0.2;

function Deadline({ request }: { request: Request }) {
  const now = useNow();
  const { created_at: createdAt, expires_at: expires, due_at: due } = request;
  const until = expires ?? due;
  if (!until) return null;
  const isLate = Date.parse(until) - now < (Date.parse(until) - Date.parse(createdAt)) * lateFraction;
  return <span className={isLate ? "inbox-deadline-late" : undefined}><Countdown kind={expires ? "expires" : "due"} until={until} /></span>;
}

type StateProps = Pick<RowProps, "request" | "isOutdated" | "bulkStatus" | "ownPart">;

function pendingText(request: Request, ownPart: OwnPart, strings: Strings): string | null {
  const { held } = request;
  if (held) return `${decisionLabel(request, held.decision, strings)} (${visible(held.responder)}): ${strings.heldVote}`;
  return ownPart === "voted" ? strings.ownVote : null;
}

/** Return the row's status as text: sending, outcome or refusal; null while it is pending. */
function statusText({ request, isOutdated, bulkStatus, ownPart }: StateProps, strings: Strings): string | null {
  if (bulkStatus?.state === "sending") return strings.bulk.sending;
  return outcomeOf(request, null, strings) ?? bulkStatus?.why ?? (isOutdated ? strings.notInList : pendingText(request, ownPart, strings));
}

function State(props: StateProps) {
  const { request, bulkStatus } = props;
  const text = statusText(props, useStrings());
  if (!text) return <span className="inbox-state"><Deadline request={request} /></span>;
  const sign = { approve: "✓", edit: "✓", respond: "✓", reject: "✕" }[request.response?.decision ?? "approve"];
  return (
    <span className={bulkStatus?.why && request.status === "pending" ? "inbox-state inbox-refusal" : "inbox-state"} title={text} data-testid="row-state">
      {request.response && <span aria-hidden="true">{sign} </span>}
      {text}
    </span>
  );
}

function Facts(props: StateProps) {
  const strings = useStrings();
  const { action, claimed_by: holder, kind, priority, status } = props.request;
  const name = action ? visible(action.name) : strings.kinds[kind];
  const claimed = holder && strings.claimedBy(visible(holder));
  return (
    <span className="inbox-facts">
      {status === "pending" && (priority === "high" || priority === "urgent") && <Tag color="error">{strings.priorities[priority]}</Tag>}
      <span className="inbox-kind" title={name}>{action ? <code>{name}</code> : name}</span>
      {claimed && <span className="inbox-holder" title={claimed}>{claimed}</span>}
      <State {...props} />
    </span>
  );
}

type SelectProps = Pick<RowProps, "actions" | "active" | "selected" | "refusal"> & { id: string; title: string };

function Select({ id, title, actions, active, selected, refusal }: SelectProps) {
  const strings = useStrings();
  return (
    <Checkbox
      data-testid="row-select" checked={selected} disabled={refusal !== null && !selected} title={refusal ?? undefined}
      aria-label={strings.select(title)} tabIndex={active ? 0 : -1} onClick={(event) => actions.select(id, event.shiftKey)}
    />
  );
}

/** One request in a row: title, kind, priority, age, deadline and claimant. */
export const RequestRow = memo(function RequestRow(props: RowProps) {
  const { request, isOutdated, actions, position, size, current, active, selected, isSelecting, bulkStatus, ownPart, start } = props;
  const { id, status } = request;
  const title = titleOf(request, useStrings());
  // A checkbox in every row would make scrolling slow.
  const [pointed, setPointed] = useState(false);
  const press = useLongPress(() => actions.select(id, false));
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    if (press.wasLong()) return;
    if (event.shiftKey || (isSelecting && press.isTouch())) actions.select(id, event.shiftKey);
    else actions.open(id);
  };
  return (
    <li
      className="inbox-row" style={{ transform: `translateY(${start}px)` }} aria-posinset={position} aria-setsize={size}
      data-testid="request-row" data-id={id} data-status={status} data-left={isOutdated} data-selected={selected}
      onPointerEnter={({ pointerType }) => setPointed(pointerType === "mouse")} onPointerLeave={() => setPointed(false)}
    >
      <span className="inbox-check">{(pointed || active || isSelecting) && <Select {...props} id={id} title={title} />}</span>
      <a
        href={basePath + requestUrl(id)} className="inbox-link" tabIndex={active ? 0 : -1} aria-current={current ? "page" : undefined}
        onClick={follow} onFocus={() => actions.onFocus(id)} {...press.handlers}
      >
        <span className="inbox-line"><span className="inbox-title" title={title}>{title}</span><Age at={request.created_at} /></span>
        <Facts request={request} isOutdated={isOutdated} bulkStatus={bulkStatus} ownPart={ownPart} />
      </a>
    </li>
  );
});
