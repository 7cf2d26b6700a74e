import { defaultRangeExtractor, useVirtualizer, type Range, type Virtualizer } from "@tanstack/react-virtual";
import { Skeleton, Button, Empty, Alert, type InputRef } from "antd";
import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type RefObject, useCallback, useMemo, type KeyboardEvent } from "react";
import { type Section, type Filters, isUrgentFirst } from "../api/lists";
import { usePauses } from "../api/pauses";
import { useCounts } from "../api/requests";
import { useSession } from "../api/session";
import { useNarrow } from "../base/browser";
import { Link } from "../base/router";
import { PauseAlerts } from "../pauses/pause-alerts";
import { ownPart } from "../request/assignment";
import { useStrings } from "../strings";
import { explain, Problem } from "../widgets/problem";
import { SlowNotice } from "../widgets/slow-notice";
import { BulkBar } from "./bulk-bar";
import { applyFilters, isFiltered as isNarrowed, filtersIn } from "./inbox-url";
import {
  countOf, type Layout, keepAnchor, positionAt, readPosition, savePosition, scrollTopFor, entryAt, headingHeight, layoutOf,
  placeOf, rowHeights, scrollTopToReveal,
} from "./layout";
import { RequestRow, type RowActions } from "./request-row";
import { Toolbar } from "./toolbar";
import type { InboxState, ListActions } from "./use-inbox";

/** A placeholder for a row that is loading. */
function RowSkeleton() {
  return <Skeleton className="inbox-skeleton" active title={{ width: "70%" }} paragraph={{ rows: 1, width: "40%" }} />;
}

interface SectionHeadingProps {
  layout: Layout;
  section: Section | null;
  hasMore: boolean;
}

/** The name of a section with the number of its requests, as far as it is known. */
export function SectionHeading({ layout, section, hasMore }: SectionHeadingProps) {
  const { sections, noneDue } = useStrings();
  if (!section) return null;
  const { count, isPartial } = countOf(layout, section, hasMore);
  const known = `${count}${isPartial ? "+" : ""}`;
  const isAlone = section === "rest" && layout.starts.length === 0;
  return (
    <h2 data-testid="section" data-section={section}>
      {isAlone ? noneDue(known) : <>{sections[section]} <span className="inbox-count">{known}</span></>}
    </h2>
  );
}

type Scroller = RefObject<HTMLDivElement | null>;

/** Keep visible rows in place when rows above them change. */
function useScrollAnchor(layout: Layout, scroller: Scroller): void {
  const before = useRef(layout);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && before.current !== layout) element.scrollTo({ top: keepAnchor(before.current, layout, element.scrollTop) });
    before.current = layout;
  }, [layout, scroller]);
}

function useSavePosition(of: string, layout: Layout, scroller: Scroller, isRestored: boolean): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !isRestored) return undefined;
    const save = () => savePosition(of, positionAt(layout, element.scrollTop));
    element.addEventListener("scroll", save, { passive: true });
    return () => {
      // The browser reports a scroll one frame late, when the list may be gone.
      save();
      element.removeEventListener("scroll", save);
    };
  }, [of, layout, scroller, isRestored]);
}

/**
 * Restore a list's scroll position after a request was open, and after a reload.
 *
 * Returns the scroll offset; undefined while the pages for it are loading.
 */
function useScrollPosition({ view, list }: InboxState, layout: Layout, scroller: Scroller): number | undefined {
  const { listKey } = view;
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const [position] = useState(() => readPosition(listKey));
  const top = position ? scrollTopFor(position, layout, !hasNextPage || isFetchNextPageError) : 0;
  const [isRestored, setRestored] = useState(top !== undefined);
  if (!isRestored && top !== undefined) setRestored(true);

  useScrollAnchor(layout, scroller);
  useEffect(() => {
    if (!isRestored && !isFetchingNextPage) void fetchNextPage();
  }, [isRestored, isFetchingNextPage, fetchNextPage]);
  const restore = useEffectEvent(() => scroller.current?.scrollTo({ top: top ?? 0 }));
  useLayoutEffect(() => {
    if (isRestored) restore();
  }, [isRestored]);
  useSavePosition(listKey, layout, scroller, isRestored);
  return isRestored ? (top ?? 0) : undefined;
}

type RowVirtualizer = Virtualizer<HTMLDivElement, Element>;

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
function waitsForPerson({ list, view }: Pick<InboxState, "list" | "view">): boolean {
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
function useRowLayout(inbox: InboxState, scroller: Scroller) {
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
function Rows({ inbox, actions }: RowsProps) {
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

function DoneToday() {
  const strings = useStrings();
  const today = useCounts()?.today;
  if (!today || today === "0") return null;
  return <p data-testid="done-today">{strings.doneToday(today)}</p>;
}

/** An empty list, with the number of requests done today. */
function EmptyList({ filters }: { filters: Filters }) {
  const strings = useStrings();
  const { tab, order } = filters;
  const isAuditor = useSession().data?.role === "auditor";
  const isFiltered = isNarrowed(filters);
  return (
    <Empty
      className="inbox-empty" image={Empty.PRESENTED_IMAGE_SIMPLE} data-testid="empty"
      description={isFiltered ? strings.noMatches : strings.emptyTabs[tab]}
    >
      {isFiltered ? <Button onClick={() => applyFilters({ tab, order })}>{strings.clearFilters}</Button> : <DoneToday />}
      {tab === "pending" && !isFiltered && (
        <>
          <p className="quiet">{strings.emptyHint}</p>
          {!isAuditor && <Link to="/threads" testId="start-agent-link">{strings.startAgent}</Link>}
        </>
      )}
    </Empty>
  );
}

interface RequestListProps {
  inbox: InboxState;
  actions: ListActions;
}

function ListSkeleton({ hasSections }: { hasSections: boolean }) {
  const strings = useStrings();
  const shapes = Array.from({ length: 8 }, (_, number) => number);
  return <>{hasSections && <div className="inbox-section" />}<SlowNotice /><output aria-label={strings.loading}>{shapes.map((number) => <RowSkeleton key={number} />)}</output></>;
}

function Content({ inbox, actions }: RequestListProps) {
  const { list, view, isStale, filters } = inbox;
  // While one types, the previous results stay; rows of another tab would be wrong.
  const isStill = !isStale || (filtersIn(view.listKey).tab === filters.tab && view.rows.length > 0);
  if (list.error && !list.data) return <div className="inbox-error"><Problem error={list.error} retry={() => void list.refetch()} /></div>;
  if (view.listed === undefined || !isStill) return <ListSkeleton hasSections={isUrgentFirst(filters)} />;
  if (view.rows.length === 0) return <EmptyList filters={filters} />;
  return <Rows key={view.listKey} inbox={inbox} actions={actions} />;
}

/** A banner above the rows while the list cannot be refreshed. */
function ListErrorBanner({ list }: Pick<InboxState, "list">) {
  const strings = useStrings();
  if (!list.error || !list.data || list.isFetchNextPageError) return null;
  const again = <Button size="small" onClick={() => void list.refetch()}>{strings.retry}</Button>;
  return <Alert banner type="warning" data-testid="list-error" title={explain(list.error, strings)} action={again} />;
}

interface WholeProps extends RequestListProps {
  search: RefObject<InputRef | null>;
  isIdle: boolean;
}

/** All pauses of the tenant, above the inbox. */
function TenantPauses() {
  return <PauseAlerts pauses={usePauses()} banner />;
}

export function RequestList({ inbox, actions, search, isIdle }: WholeProps) {
  const strings = useStrings();
  return (
    <section className="inbox-list" aria-label={strings.requests}>
      <h1 className="visually-hidden">{strings.inbox}</h1>
      <Toolbar inbox={inbox} actions={actions} search={search} isIdle={isIdle} />
      <ListErrorBanner list={inbox.list} />
      <TenantPauses />
      <div className="inbox-content" data-late={inbox.isStale} aria-busy={inbox.isStale} {...inbox.activityHandlers}><Content inbox={inbox} actions={actions} /></div>
      <BulkBar inbox={inbox} />
    </section>
  );
}
