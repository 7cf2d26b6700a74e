import { Checkbox, Tag } from "antd";
import { memo, useState, type MouseEvent } from "react";
import type { Request } from "../api/types";
import { titleOf } from "../request/title";
import { outcomeOf } from "../request/outcome";
import { useStrings, type Strings } from "../strings";
import { base } from "../widgets/base";
import { Countdown, useNow } from "../widgets/time";
import { visible } from "../widgets/visible";
import { addressOf } from "./address";
import { Age } from "./age";
import type { Fate } from "./bulk";
import { useLongPress } from "./long-press";
import type { Row } from "./steady";

export interface RowActs {
  open: (id: string) => void;
  /** Select or unselect; with `range`, everything up to here. */
  select: (id: string, range: boolean) => void;
  focused: (id: string) => void;
}

export interface RowProps extends Row {
  acts: RowActs;
  position: number;
  size: number;
  /** It is the one that is shown in full. */
  current: boolean;
  /** The one that Tab reaches. */
  active: boolean;
  selected: boolean;
  /** A tap selects, because others are selected already. */
  selecting: boolean;
  /** Why it cannot be selected. */
  refusal: string | null;
  fate: Fate | undefined;
  /** How far down it stands. */
  start: number;
}

const lastPart = 0.2;

function Deadline({ request }: { request: Request }) {
  const now = useNow();
  const { created_at: asked, expires_at: expires, due_at: due } = request;
  const until = expires ?? due;
  if (!until) return null;
  const isLate = Date.parse(until) - now < (Date.parse(until) - Date.parse(asked)) * lastPart;
  return <span className={isLate ? "inbox-late" : undefined}><Countdown kind={expires ? "expires" : "due"} until={until} /></span>;
}

type StateProps = Pick<RowProps, "request" | "left" | "fate">;

/** In words where it stands: on its way, ended by whom and when, or skipped and why; null while it just waits. */
function stateOf({ request, left, fate }: StateProps, strings: Strings): string | null {
  if (fate?.state === "sending") return strings.bulk.sending;
  return outcomeOf(request, null, strings) ?? fate?.why ?? (left ? strings.leftList : null);
}

function State(props: StateProps) {
  const { request, fate } = props;
  const words = stateOf(props, useStrings());
  if (!words) return <span className="inbox-state"><Deadline request={request} /></span>;
  const sign = { approve: "✓", edit: "✓", respond: "✓", reject: "✕" }[request.response?.decision ?? "approve"];
  return (
    <span className={fate?.why && request.status === "pending" ? "inbox-state inbox-why" : "inbox-state"} title={words} data-testid="row-state">
      {request.response && <span aria-hidden="true">{sign} </span>}
      {words}
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

type SelectProps = Pick<RowProps, "acts" | "active" | "selected" | "refusal"> & { id: string; title: string };

function Select({ id, title, acts, active, selected, refusal }: SelectProps) {
  const strings = useStrings();
  return (
    <Checkbox
      data-testid="row-select" checked={selected} disabled={refusal !== null && !selected} title={refusal ?? undefined}
      aria-label={strings.select(title)} tabIndex={active ? 0 : -1} onClick={(event) => acts.select(id, event.shiftKey)}
    />
  );
}

/** One request in a line or two: what, how urgent, since when, until when, with whom. */
export const RequestRow = memo(function RequestRow(props: RowProps) {
  const { request, left, acts, position, size, current, active, selected, selecting, fate, start } = props;
  const { id, status } = request;
  const title = titleOf(request, useStrings());
  // A box in each row that scrolls by costs more than all the rest of the row.
  const [pointed, setPointed] = useState(false);
  const press = useLongPress(() => acts.select(id, false));
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    if (press.wasLong()) return;
    if (event.shiftKey || (selecting && press.isTouch())) acts.select(id, event.shiftKey);
    else acts.open(id);
  };
  return (
    <li
      className="inbox-row" style={{ transform: `translateY(${start}px)` }} aria-posinset={position} aria-setsize={size}
      data-testid="request-row" data-id={id} data-status={status} data-left={left} data-selected={selected}
      onPointerEnter={({ pointerType }) => setPointed(pointerType === "mouse")} onPointerLeave={() => setPointed(false)}
    >
      <span className="inbox-check">{(pointed || active || selecting) && <Select {...props} id={id} title={title} />}</span>
      <a
        href={base + addressOf(id)} className="inbox-link" tabIndex={active ? 0 : -1} aria-current={current ? "page" : undefined}
        onClick={follow} onFocus={() => acts.focused(id)} {...press.handlers}
      >
        <span className="inbox-line"><span className="inbox-title" title={title}>{title}</span><Age at={request.created_at} /></span>
        <Facts request={request} left={left} fate={fate} />
      </a>
    </li>
  );
});
