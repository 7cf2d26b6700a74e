import { Tag, Checkbox } from "antd";
import { useRef, type MouseEvent, type PointerEvent, memo, useState } from "react";
import { deadlineOf } from "../api/lists";
import type { Request } from "../api/types";
import { basePath } from "../base/router";
import { visible } from "../base/visible";
import type { OwnPart } from "../request/assignment";
import { declaredCard } from "../request/card";
import { decisionLabel, outcomeOf, titleOf } from "../request/outcome";
import { signature } from "../request/signature";
import { useStrings, type Strings } from "../strings";
import { MarkedText } from "../widgets/marked-text";
import { useNow } from "../widgets/time";
import { Countdown } from "../widgets/countdown";
import type { BulkStatus } from "./bulk";
import type { InboxRow } from "./flood";
import { requestUrl } from "./inbox-url";
import { amountText, askerOf, formatCount, objectOf, totalsOf } from "./stake";

const units = [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;

/** Return an age in its coarsest unit; null below a minute. */
function ageOf(seconds: number, language: string): string | null {
  const unitLength = units.find(([, length]) => seconds >= length);
  if (!unitLength) return null;
  const [unit, length] = unitLength;
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "narrow" }).format(Math.floor(seconds / length));
}

function Age({ at }: { at: string }) {
  const strings = useStrings();
  const age = ageOf((useNow() - new Date(at).getTime()) / 1_000, strings.language);
  return <time dateTime={at} title={at}>{age ?? strings.justNow}</time>;
}

const longPressTime = 500;

/** Detect a long press on a touch screen. */
function useLongPress(onLongPress: () => void) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef({ touch: false, long: false });
  const stop = () => clearTimeout(timer.current);
  const handlers = {
    onPointerDown: ({ pointerType }: PointerEvent) => {
      last.current = { touch: pointerType === "touch", long: false };
      stop();
      if (pointerType !== "touch") return;
      timer.current = setTimeout(() => {
        last.current.long = true;
        onLongPress();
      }, longPressTime);
    },
    onPointerUp: stop,
    onPointerCancel: stop,
    // The link's context menu would cover the row that was just selected.
    onContextMenu: (event: MouseEvent) => last.current.touch && event.preventDefault(),
  };
  return { handlers, wasLong: () => last.current.long, isTouch: () => last.current.touch };
}

const lateFraction = 0.2;

/** The nearer of due time and expiry, while the request is open. */
function Deadline({ request }: { request: Request }) {
  const now = useNow();
  const { created_at: createdAt, expires_at: expires, due_at: due } = request;
  const at = deadlineOf(request);
  if (!Number.isFinite(at) || request.status !== "pending") return null;
  const isLate = at - now < (at - Date.parse(createdAt)) * lateFraction;
  const isExpiry = Boolean(expires && Date.parse(expires) === at);
  const until = (isExpiry ? expires : due) ?? "";
  return <span className={isLate ? "inbox-deadline-late" : undefined}><Countdown kind={isExpiry ? "expires" : "due"} until={until} /></span>;
}

interface FactsProps extends Pick<InboxRow, "request" | "isOutdated" | "others" | "bundle"> {
  bulkStatus: BulkStatus | undefined;
  /** What this person has done on a pending request. */
  ownPart: OwnPart;
}

function pendingText(request: Request, ownPart: OwnPart, strings: Strings): string | null {
  const { held } = request;
  if (held) return `${decisionLabel(request, held.decision, strings)} (${visible(held.responder)}): ${strings.heldVote}`;
  return ownPart === "voted" ? strings.ownVote : null;
}

/** Return the row's status as text: sending, outcome or refusal; null while it is pending. */
function statusText({ request, isOutdated, bulkStatus, ownPart }: FactsProps, strings: Strings): string | null {
  if (bulkStatus?.state === "sending") return strings.bulk.sending;
  return outcomeOf(request, null, strings) ?? bulkStatus?.why ?? (isOutdated ? strings.notInList : pendingText(request, ownPart, strings));
}

function State(props: FactsProps) {
  const { request, bulkStatus } = props;
  const text = statusText(props, useStrings());
  if (!text) return null;
  const sign = { approve: "✓", edit: "✓", respond: "✓", reject: "✕" }[request.response?.decision ?? "approve"];
  return (
    <span className={bulkStatus?.why && request.status === "pending" ? "inbox-state inbox-refusal" : "inbox-state"} title={text} data-testid="row-state">
      {request.response && <span aria-hidden="true">{sign} </span>}
      {text}
    </span>
  );
}

/** What is at stake, in words: the tier, the priority, and whether nobody was asked about this tool of late. */
function Stakes({ request }: { request: Request }) {
  const strings = useStrings();
  const { tier, priority, first_of_kind: isFirst } = request;
  return (
    <>
      {tier === "irreversible" && <Tag color="error" data-testid="row-tier"><span aria-hidden="true">■ </span>{strings.tierNames.irreversible}</Tag>}
      {tier === "high" && <Tag color="warning" data-testid="row-tier"><span aria-hidden="true">▲ </span>{strings.tierNames.high}</Tag>}
      {declaredCard(request)?.above_limit === true && <Tag color="warning">{strings.aboveLimit}</Tag>}
      {(priority === "high" || priority === "urgent") && <Tag color="error">{strings.priorities[priority]}</Tag>}
      {request.unanswerable && <Tag color="error" data-testid="row-unanswerable">{strings.unanswerable}</Tag>}
      {isFirst && <Tag color="blue" className="inbox-first" title={strings.firstOfKindHint} data-testid="row-first">{strings.firstOfKind}</Tag>}
    </>
  );
}

function Call({ request }: { request: Request }) {
  const strings = useStrings();
  const { action, kind } = request;
  if (!action) return <span className="inbox-kind" title={strings.kinds[kind]}>{strings.kinds[kind]}</span>;
  const object = objectOf(request, strings.language);
  const call = object === null ? signature(action.name, action.args) : visible(action.name);
  return (
    <>
      {object !== null && <strong className="inbox-object" title={object} data-testid="row-object"><MarkedText text={object} /></strong>}
      <code className="inbox-kind" title={call} data-testid="row-call"><MarkedText text={call} /></code>
    </>
  );
}

/** The amounts of a flood's requests from the least to the greatest, with the name of their tool. */
function BundleCall({ request, others }: Pick<InboxRow, "request" | "others">) {
  const strings = useStrings();
  const ranges = totalsOf([request, ...others]).map(({ least, greatest, unit }) =>
    strings.range(...[least, greatest].map((amount) => amountText(amount, unit, strings.language)) as [string, string]));
  return (
    <>
      {ranges.length > 0 && <strong className="inbox-object">{ranges.join(", ")}</strong>}
      <span className="inbox-kind" title={strings.bundleHint}>{strings.bundleHint}</span>
    </>
  );
}

/** The second line of a row: the stakes, the call, who asks, and the deadline or the outcome. */
export function Facts(props: FactsProps) {
  const strings = useStrings();
  const { request, others, bundle } = props;
  const asker = askerOf(request, strings);
  const claimed = request.claimed_by && strings.claimedBy(visible(request.claimed_by));
  return (
    <span className="inbox-facts">
      <span className="inbox-what">
        {bundle === "equal" && others.length > 0 && <Tag data-testid="row-count">{strings.equalCount(formatCount(others.length + 1, strings.language))}</Tag>}
        {request.status === "pending" && <Stakes request={request} />}
        {bundle === "tool" ? <BundleCall {...props} /> : <Call request={request} />}
      </span>
      <span className="inbox-who">
        {asker && <span className="inbox-asker" title={asker} data-testid="row-asker">{asker}</span>}
        {claimed && <span className="inbox-holder" title={claimed}>{claimed}</span>}
        <State {...props} />
      </span>
    </span>
  );
}

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

function rowTitle({ request, others, bundle }: RowProps, strings: Strings): string {
  if (bundle !== "tool" || !request.action) return titleOf(request, strings);
  return strings.bundleTitle(visible(request.action.name), formatCount(others.length + 1, strings.language));
}

/** One request in a row: title and age, stakes, call, asker, and deadline or outcome. */
export const RequestRow = memo(function RequestRow(props: RowProps) {
  const { request, isOutdated, others, bundle, actions, position, size, current, active, selected, isSelecting, start } = props;
  const { id, status } = request;
  const title = rowTitle(props, useStrings());
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
      data-testid="request-row" data-id={id} data-status={status} data-left={isOutdated} data-bundle={bundle ?? undefined} data-count={others.length + 1} data-selected={selected}
      onPointerEnter={({ pointerType }) => setPointed(pointerType === "mouse")} onPointerLeave={() => setPointed(false)}
    >
      <span className="inbox-check">{(pointed || active || isSelecting) && <Select {...props} id={id} title={title} />}</span>
      <a
        href={basePath + requestUrl(id)} className="inbox-link" tabIndex={active ? 0 : -1} aria-current={current ? "page" : undefined}
        onClick={follow} onFocus={() => actions.onFocus(id)} {...press.handlers}
      >
        <span className="inbox-line"><span className="inbox-title" title={title}>{title}</span><Deadline request={request} /><Age at={request.ended_at ?? request.created_at} /></span>
        <Facts {...props} />
      </a>
    </li>
  );
});
