import { defaultRangeExtractor, useVirtualizer, type Range, type Virtualizer } from "@tanstack/react-virtual";
import { Button } from "antd";
import { useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, type KeyboardEvent, type RefObject } from "react";
import { useSession } from "../api/session";
import { ownPart } from "../request/voting";
import { useStrings } from "../strings";
import { rowHeight, readPosition, scrollTopToReveal } from "./scroll-position";
import { RequestRow, type RowActions } from "./request-row";
import { RowSkeleton } from "./row-skeleton";
import type { ListActions } from "./use-list-actions";
import type { InboxState } from "./use-inbox";
import { useScrollPosition } from "./use-scroll-position";

interface RowsProps {
  inbox: InboxState;
  actions: ListActions;
}

type RowVirtualizer = Virtualizer<HTMLDivElement, Element>;
type Scroller = RefObject<HTMLDivElement | null>;

/** Scroll a row into view when it is opened, and focus it when the keys moved to it. */
function useReveal({ view, cursor, openId }: InboxState, scroller: Scroller): void {
  const reveal = useEffectEvent((id: string | undefined) => {
    const element = scroller.current;
    const index = view.rows.findIndex((row) => row.request.id === id);
    if (element && index >= 0) element.scrollTo({ top: scrollTopToReveal(index, element.scrollTop, element.clientHeight) });
  });
  const isFirst = useRef(true);
  const focus = useEffectEvent((id: string) => {
    reveal(id);
    const link = scroller.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"] a`);
    link?.focus({ preventScroll: true });
  });
  useLayoutEffect(() => {
    // After a reload the scroll position wins over the open request.
    if (!isFirst.current || !readPosition(view.listKey)) reveal(openId);
    isFirst.current = false;
  }, [openId, view.listKey]);
  const { focusTarget } = cursor;
  useLayoutEffect(() => {
    if (focusTarget) focus(focusTarget.id);
  }, [focusTarget]);
}

/** Render only the visible rows and the one with the focus. */
function useRowVirtualizer({ view, cursor, list }: InboxState, scroller: Scroller, place: number | undefined): RowVirtualizer {
  const { rows } = view;
  const extract = (range: Range) => {
    const indexes = new Set(defaultRangeExtractor(range));
    if (cursor.index < rows.length) indexes.add(cursor.index);
    return [...indexes].sort((a, b) => a - b);
  };
  // oxlint-disable-next-line react/incompatible-library -- it is not memoized here, so nothing goes stale
  return useVirtualizer<HTMLDivElement, Element>({
    count: rows.length + (list.hasNextPage ? 1 : 0),
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    initialOffset: place ?? 0,
    overscan: 8,
    getItemKey: (index) => rows[index]?.request.id ?? index,
    rangeExtractor: extract,
  });
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

function LoadMoreRow({ list }: Pick<InboxState, "list">) {
  const strings = useStrings();
  if (!list.isFetchNextPageError) return <RowSkeleton />;
  return (
    <div className="inbox-more">
      <span>{strings.loadMoreFailed}</span>
      <Button size="small" onClick={() => void list.fetchNextPage()}>{strings.retry}</Button>
    </div>
  );
}

function useMorePages({ list, view }: InboxState, last: number): void {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const isNear = last >= view.rows.length - 50;
  useEffect(() => {
    if (isNear && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [isNear, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);
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
  const place = useScrollPosition(inbox, scroller);
  const virtual = useRowVirtualizer(inbox, scroller, place);
  const items = virtual.getVirtualItems();
  const rowActs = useRowActions(inbox, actions);
  useReveal(inbox, scroller);
  useMorePages(inbox, items.at(-1)?.index ?? -1);
  const size = list.hasNextPage ? -1 : view.rows.length;
  return (
    <div className="inbox-scroll" ref={scroller} role="presentation" data-testid="inbox-scroll" onKeyDown={onArrowKey(actions)}>
      <ul className="inbox-rows" aria-label={strings.requests} style={{ height: virtual.getTotalSize() }} data-placed={place !== undefined} data-selecting={selection.ids.size > 0}>
        {items.map(({ index, key, start }) => {
          const row = view.rows[index];
          if (!row) return <li key={key} className="inbox-row" style={{ transform: `translateY(${start}px)` }}><LoadMoreRow list={list} /></li>;
          const { id } = row.request;
          return (
            <RequestRow
              key={key} {...row} actions={rowActs} start={start} position={index + 1} size={size} current={id === openId}
              active={id === cursor.id} selected={selection.ids.has(id)} isSelecting={selection.ids.size > 0}
              refusal={row.isOutdated ? strings.notInList : inbox.refusalOf(row.request)} bulkStatus={inbox.bulkStatusOf(row.request)} ownPart={ownPart(row.request, me)}
            />
          );
        })}
      </ul>
    </div>
  );
}
