import { defaultRangeExtractor, useVirtualizer, type Range, type Virtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, type RefObject } from "react";
import { useNarrow } from "../base/media";
import { entryAt, headingHeight, layoutOf, placeOf, rowHeights, type Layout } from "./layout";
import { readPosition, scrollTopToReveal } from "./scroll-position";
import type { InboxState } from "./use-inbox";
import { useScrollPosition } from "./use-scroll-position";

type RowVirtualizer = Virtualizer<HTMLDivElement, Element>;
type Scroller = RefObject<HTMLDivElement | null>;

/** Scroll a row into view when it is opened, and focus it when the keys moved to it. */
function useReveal({ view, cursor, openId }: InboxState, layout: Layout, scroller: Scroller): void {
  const reveal = useEffectEvent((id: string | undefined) => {
    const element = scroller.current;
    const index = view.rows.findIndex((row) => row.request.id === id);
    if (element && index >= 0) element.scrollTo({ top: scrollTopToReveal(layout, index, element.scrollTop, element.clientHeight) });
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
function useRowVirtualizer({ cursor, list }: InboxState, layout: Layout, scroller: Scroller, place: number | undefined): RowVirtualizer {
  const { rows, starts, rowHeight } = layout;
  const extract = (range: Range) => {
    const places = new Set(defaultRangeExtractor(range));
    if (cursor.index < rows.length) places.add(placeOf(layout, cursor.index));
    return [...places].sort((a, b) => a - b);
  };
  const headings = new Set(starts.map((start) => placeOf(layout, start) - 1));
  const keyOf = useCallback((at: number) => {
    const entry = entryAt(layout, at);
    return "heading" in entry ? `heading-${entry.heading}` : (layout.rows[entry.row]?.request.id ?? at);
  }, [layout]);
  // oxlint-disable-next-line react/incompatible-library -- it is not memoized here, so nothing goes stale
  return useVirtualizer<HTMLDivElement, Element>({
    count: rows.length + starts.length + (list.hasNextPage ? 1 : 0),
    getScrollElement: () => scroller.current,
    estimateSize: (at) => (headings.has(at) ? headingHeight : rowHeight),
    initialOffset: place ?? 0,
    overscan: 8,
    getItemKey: keyOf,
    rangeExtractor: extract,
  });
}

/** Pages that are loaded without a scroll while their requests join rows that are there. */
const mostPages = 20;

/** Return whether the list waits for the person before it loads more: a flood fills pages, but no rows. */
export function waitsForPerson({ list, view }: Pick<InboxState, "list" | "view">): boolean {
  const loaded = list.data?.pages.length ?? 0;
  return loaded > 0 && loaded % mostPages === 0 && view.rows.length < loaded * 50;
}

function useMorePages({ list, view }: InboxState, last: number): void {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const isNear = last >= view.rows.length - 50 && !waitsForPerson({ list, view });
  useEffect(() => {
    if (isNear && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [isNear, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);
}

/** Place the rows and headings, and return those on screen with the section at the top. */
export function useRowLayout(inbox: InboxState, scroller: Scroller) {
  const isNarrow = useNarrow();
  const { rows } = inbox.view;
  const layout = useMemo(() => layoutOf(rows, isNarrow ? rowHeights.narrow : rowHeights.wide), [rows, isNarrow]);
  const place = useScrollPosition(inbox, layout, scroller);
  const virtual = useRowVirtualizer(inbox, layout, scroller, place);
  useReveal(inbox, layout, scroller);
  useMorePages(inbox, virtual.getVirtualItems().at(-1)?.index ?? -1);
  const top = entryAt(layout, virtual.range?.startIndex ?? 0);
  const section = "heading" in top ? top.heading : (rows[top.row]?.section ?? null);
  return { layout, place, virtual, section };
}
