import { Button } from "antd";
import { useEffect, useMemo, useRef, type KeyboardEvent } from "react";
import { useSession } from "../api/session";
import { ownPart } from "../request/voting";
import { useStrings } from "../strings";
import { entryAt } from "./layout";
import { RequestRow, type RowActions } from "./request-row";
import { RowSkeleton } from "./row-skeleton";
import { SectionHeading } from "./section-heading";
import type { ListActions } from "./use-list-actions";
import type { InboxState } from "./use-inbox";
import { useRowLayout, waitsForPerson } from "./use-row-layout";

interface RowsProps {
  inbox: InboxState;
  actions: ListActions;
}

/** Stable callbacks, so that a row renders again only when its own data changes. */
function useRowActions({ cursor }: InboxState, actions: ListActions): RowActions {
  const now = { open: actions.open, select: actions.select, onFocus: cursor.at };
  const latest = useRef(now);
  useEffect(() => {
    latest.current = now;
  });
  return useMemo(() => ({
    open: (id) => latest.current.open(id),
    select: (id, range) => latest.current.select(id, range),
    onFocus: (id) => latest.current.onFocus(id),
  }), []);
}

function LoadMoreRow({ list, view }: Pick<InboxState, "list" | "view">) {
  const strings = useStrings();
  const isWaiting = waitsForPerson({ list, view }) && !list.isFetchingNextPage;
  if (isWaiting) return <div className="inbox-more"><Button size="small" onClick={() => void list.fetchNextPage()} data-testid="load-more">{strings.more}</Button></div>;
  if (!list.isFetchNextPageError) return <RowSkeleton />;
  return (
    <div className="inbox-more">
      <span>{strings.loadMoreFailed}</span>
      <Button size="small" onClick={() => void list.fetchNextPage()}>{strings.retry}</Button>
    </div>
  );
}

/** Arrow keys move the focus within the list. */
function onArrowKey(actions: ListActions) {
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, Home: -1e6, End: 1e6 };
  return (event: KeyboardEvent) => {
    const by = steps[event.key];
    if (by === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    if (event.shiftKey) actions.selectMore(by);
    else actions.move(by);
  };
}

/** The scrollable list of rows. */
export function Rows({ inbox, actions }: RowsProps) {
  const strings = useStrings();
  const me = useSession().data?.name;
  const { view, cursor, selection, openId, list } = inbox;
  const scroller = useRef<HTMLDivElement>(null);
  const { layout, place, virtual, section } = useRowLayout(inbox, scroller);
  const rowActs = useRowActions(inbox, actions);
  const size = list.hasNextPage ? -1 : view.rows.length;
  const headingOf = (of: typeof section) => <SectionHeading layout={layout} section={of} hasMore={list.hasNextPage} />;
  return (
    <>
      {section && <div className="inbox-section">{headingOf(section)}</div>}
      <div className="inbox-scroll" ref={scroller} role="presentation" data-testid="inbox-scroll" onKeyDown={onArrowKey(actions)}>
        <ul className="inbox-rows" aria-label={strings.requests} style={{ height: virtual.getTotalSize() }} data-placed={place !== undefined} data-selecting={selection.ids.size > 0}>
          {virtual.getVirtualItems().map(({ index: at, key, start }) => {
            const entry = entryAt(layout, at);
            const style = { transform: `translateY(${start}px)` };
            if ("heading" in entry) return <li key={key} className="inbox-section" style={style}>{headingOf(entry.heading)}</li>;
            const row = view.rows[entry.row];
            if (!row) return <li key={key} className="inbox-row" style={style}><LoadMoreRow list={list} view={view} /></li>;
            const { id } = row.request;
            return (
              <RequestRow
                key={key} {...row} actions={rowActs} start={start} position={entry.row + 1} size={size} current={id === openId}
                active={id === cursor.id} selected={selection.ids.has(id)} isSelecting={selection.ids.size > 0}
                refusal={row.isOutdated ? strings.notInList : inbox.refusalOf(row.request)} bulkStatus={inbox.bulkStatusOf(row.request)} ownPart={ownPart(row.request, me)}
              />
            );
          })}
        </ul>
      </div>
    </>
  );
}
