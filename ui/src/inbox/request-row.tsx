import { Checkbox } from "antd";
import { memo, useState, type MouseEvent } from "react";
import { titleOf } from "../request/outcome";
import type { OwnPart } from "../request/voting";
import { useStrings, type Strings } from "../strings";
import { basePath } from "../base/base-path";
import { visible } from "../base/visible";
import { requestUrl } from "./inbox-url";
import { Age } from "./age";
import type { BulkStatus } from "./bulk";
import { useLongPress } from "./long-press";
import { Deadline, Facts } from "./request-facts";
import { formatCount } from "./stake";
import type { InboxRow } from "./flood";

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
