import { defaultRangeExtractor, useWindowVirtualizer, type Range } from "@tanstack/react-virtual";
import { Button, Card, Descriptions, Collapse } from "antd";
import { memo, useState, useLayoutEffect, type RefObject, useEffect, useRef, useMemo, type ReactNode, Suspense } from "react";
import { isStatus } from "../api/call";
import { pausesOf, usePauses } from "../api/pauses";
import { useThread } from "../api/threads";
import type { Json, Thread, Erased } from "../api/types";
import { lazyWithRetry, useMedia } from "../base/browser";
import { type Shortcut, useKeys } from "../base/keys";
import { go, Link } from "../base/router";
import { visibleJson, visible } from "../base/visible";
import { PauseAlerts } from "../pauses/pause-alerts";
import { ErasureNote } from "../request/erasure-note";
import { RequestDetail } from "../request/request-detail";
import { useStrings } from "../strings";
import { useRequestStrings } from "../strings/detail";
import { OpenDisclosuresContext } from "../widgets/disclosure";
import { JsonValue } from "../widgets/json-value";
import { Loading } from "../widgets/loading";
import { actorName } from "../widgets/names";
import { Problem } from "../widgets/problem";
import { dayAndTime, timeOfDay } from "../widgets/time-format";
import { ItemBody } from "./item-body";
import { LiveAnnouncer } from "./live-announcer";
import { ThreadStatusTag } from "./status-tag";
import { type NumberedEvent, type StreamEvent, type StreamState, type Item, useStream } from "./stream";
import { ThreadFooter } from "./thread-footer";
import { useFollow } from "./use-follow";
import "./thread.css";

/** Number of events rendered at first; more would slow down each update. */
const pageSize = 500;

const RawEvent = memo(function RawEvent({ number, event }: { number: number; event: StreamEvent }) {
  return <li data-number={number} data-type={event.type} value={number}><code className="json">{visibleJson(event)}</code></li>;
});

/** Every event of the stream as received, collapsed at first. */
function RawEvents({ events }: { events: NumberedEvent[] }) {
  const strings = useStrings();
  const [limit, setLimit] = useState(pageSize);
  const visibleEvents = events.slice(-limit);
  return (
    <details className="raw">
      <summary>{strings.rawEvents(events.length)}</summary>
      {visibleEvents.length < events.length && (
        <Button size="small" onClick={() => setLimit(limit + pageSize)} data-testid="earlier-events">{strings.earlierEvents}</Button>
      )}
      <ol data-testid="events">
        {visibleEvents.map(({ number, event }) => <RawEvent key={number} number={number} event={event} />)}
      </ol>
    </details>
  );
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Show a text without the quotes of JSON. */
function Value({ value }: { value: Json }) {
  return typeof value === "string" ? <span className="agent-text">{visible(value)}</span> : <JsonValue value={value} />;
}

function Values({ values }: { values: Json | undefined }) {
  const strings = useStrings();
  if (!isObject(values) || Object.keys(values).length === 0) return null;
  const items = Object.entries(values).map(([name, value]) => ({
    key: name, label: visible(name), children: <Value value={value} />,
  }));
  return (
    <Card size="small" title={strings.resultTitle}>
      <div data-testid="thread-values"><Descriptions size="small" column={1} items={items} /></div>
    </Card>
  );
}

function Timestamp({ at }: { at: string }) {
  const { language } = useStrings();
  return <time dateTime={at} title={at}>{dayAndTime(Date.parse(at), language)}</time>;
}

function Facts({ thread }: { thread: Thread }) {
  const strings = useStrings();
  const items = [
    { key: "agent", label: strings.agent, children: visible(thread.agent) },
    { key: "started", label: strings.started, children: <Timestamp at={thread.created_at} /> },
    ...(thread.started_by ? [{ key: "by", label: strings.startedBy, children: actorName(thread.started_by, strings) }] : []),
    { key: "changed", label: strings.lastChange, children: <Timestamp at={thread.updated_at} /> },
  ];
  return <Card size="small"><Descriptions size="small" column={1} items={items} data-testid="thread-facts" /></Card>;
}

/** The details beside the stream: facts of the thread, the agent's result and the raw events. */
function ThreadDetails({ thread, stream }: { thread: Thread | undefined; stream: StreamState }) {
  return (
    <>
      {thread && <Facts thread={thread} />}
      <Values values={stream.values ?? thread?.values} />
      <RawEvents events={stream.events} />
    </>
  );
}

/** Up to this many rows are all in the document, so that the browser's search finds them. */
const minVirtualized = 150;

const heights: Record<Item["kind"], number> = {
  run: 30, end: 30, step: 24, tool: 32, custom: 32, message: 64, error: 80, pause: 320,
};

/** Return the list's offset on the page; content above it may grow. */
function useTop(list: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => list.current && setTop(Math.round(list.current.getBoundingClientRect().top + window.scrollY));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [list]);
  return top;
}

/** Render the visible rows and the pinned ones, which may contain typed text. */
function useRows(list: RefObject<HTMLElement | null>, items: Item[], isPinned: (item: Item) => boolean) {
  const within = (range: Range) => {
    if (range.count <= minVirtualized) return Array.from({ length: range.count }, (_, index) => index);
    const pinned = items.flatMap((item, index) => (isPinned(item) ? [index] : []));
    return [...new Set([...pinned, ...defaultRangeExtractor(range)])].toSorted((one, other) => one - other);
  };
  // oxlint-disable-next-line react/incompatible-library -- nothing here is handed to what a compiler memoises
  return useWindowVirtualizer<HTMLDivElement>({
    count: items.length,
    estimateSize: (index) => heights[items[index]?.kind ?? "message"],
    getItemKey: (index) => items[index]?.key ?? index,
    rangeExtractor: within,
    scrollMargin: useTop(list),
    scrollPaddingStart: 72,
    scrollPaddingEnd: 72,
    overscan: 10,
    gap: 8,
  });
}

interface Rows {
  list: RefObject<HTMLElement | null>;
  keys: number[];
  show: (index: number) => void;
}

/** Open a row's disclosure, or focus its first control. */
function enter(row: HTMLElement | null): void {
  const summary = row?.querySelector<HTMLElement>(".disclosure > summary");
  if (summary) summary.click();
  else row?.querySelector<HTMLElement>("input:not([disabled]), textarea:not([disabled]), button:not([disabled]), a[href]")?.focus();
}

/** Bind keys that move between rows, and return the row that has the focus. */
function useRowKeys({ list, keys, show }: Rows) {
  const strings = useStrings();
  const [at, setAt] = useState<number>();
  const pendingFocus = useRef<number | undefined>(undefined);
  const rowOf = (key: number | undefined) => list.current?.querySelector<HTMLElement>(`:scope > [data-key="${key}"]`) ?? null;

  useEffect(() => {
    const rows = list.current;
    const onFocusIn = ({ target }: FocusEvent) => {
      const row = target instanceof Element && target.closest<HTMLElement>("[data-key]");
      if (row) setAt(Number(row.dataset.key));
    };
    rows?.addEventListener("focusin", onFocusIn);
    return () => rows?.removeEventListener("focusin", onFocusIn);
  }, [list]);

  useEffect(() => {
    const row = pendingFocus.current === undefined ? null : rowOf(pendingFocus.current);
    if (!row) return;
    // An open question has its own keys while it has the focus.
    const open = row.querySelector<HTMLElement>("article[data-status=pending]");
    (open ?? row).focus({ preventScroll: true });
    pendingFocus.current = undefined;
  });

  const move = (by: 1 | -1) => {
    const before = at === undefined ? -1 : keys.indexOf(at);
    const next = before < 0 ? keys.length - 1 : Math.min(keys.length - 1, Math.max(0, before + by));
    pendingFocus.current = keys[next];
    setAt(keys[next]);
    show(next);
  };
  const shortcuts: Shortcut[] = [
    { key: "j", label: strings.nextEntry, run: () => move(1) },
    { key: "k", label: strings.previousEntry, run: () => move(-1) },
    { key: "Enter", label: strings.openEntry, run: () => enter(rowOf(at)) },
  ];
  return { at, shortcuts };
}

interface ThreadTimelineProps {
  items: Item[];
  /** Open requests; they stay mounted out of view so that typed text is kept. */
  openRequests: ReadonlySet<string>;
  /** Content below the newest item. */
  children: ReactNode;
}

/** Return the time shown above a row; dividers have their own time. */
function timeBefore(items: Item[], index: number): number | null {
  const before = items[index - 1];
  return before && !["run", "end", "pause"].includes(before.kind) ? before.at : null;
}

/** The items of a thread; the end stays in view while the reader is there. */
function ThreadTimeline({ items, openRequests, children }: ThreadTimelineProps) {
  const strings = useStrings();
  const list = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const openDisclosures = useMemo(() => new Set<string>(), []);
  const { at, shortcuts } = useRowKeys({ list, keys: items.map(({ key }) => key), show: (index) => rows.scrollToIndex(index) });
  const rows = useRows(list, items, (item) => item.key === at || (item.kind === "pause" && item.requests.some((id) => openRequests.has(id))));
  const { newCount, toEnd } = useFollow(list, end, items.length);
  const visibleRows = rows.getVirtualItems();
  useKeys(strings.timeline, [...shortcuts, { key: "G", label: strings.goToNewest, run: toEnd }]);
  return (
    <OpenDisclosuresContext value={openDisclosures}>
      <div
        ref={list} className="thread-items" role="feed" aria-label={strings.timeline} data-testid="thread-items"
        aria-busy={visibleRows.length === 0} style={{ height: Math.max(0, rows.getTotalSize()) }}
      >
        {visibleRows.map(({ index, key, start }) => {
          const item = items[index];
          return item && (
            <article
              key={key} ref={rows.measureElement} className="thread-row" tabIndex={-1}
              aria-posinset={index + 1} aria-setsize={items.length} aria-label={strings.entryKinds[item.kind]}
              data-index={index} data-key={item.key}
              style={{ transform: `translateY(${start - rows.options.scrollMargin}px)` }}
            >
              <TimelineItem item={item} before={timeBefore(items, index)} />
            </article>
          );
        })}
      </div>
      {children}
      <div ref={end} />
      {newCount > 0 && (
        <div className="thread-new">
          <Button type="primary" shape="round" onClick={toEnd} data-testid="new-below">{strings.newItemsBelow(newCount)}</Button>
        </div>
      )}
    </OpenDisclosuresContext>
  );
}

const RunPicture = lazyWithRetry(() => import("./run-picture"));

/** Return pending requests that the stream does not contain (yet), so that they can always be answered. */
function requestsOutsideStream(thread: Thread | undefined, items: Item[]): string[] {
  const placed = new Set(items.flatMap((item) => (item.kind === "pause" ? item.requests : [])));
  return (thread?.pending ?? []).map((request) => request.id).filter((id) => !placed.has(id));
}

/** A panel beside the stream, or collapsed above it on a narrow screen. */
function DetailsPanel({ children }: { children: ReactNode }) {
  const strings = useStrings();
  const isWide = useMedia("(min-width: 1100px)");
  if (isWide) return <aside className="thread-details" aria-label={strings.details}>{children}</aside>;
  return (
    <details className="thread-details">
      <summary>{strings.details}</summary>
      <div>{children}</div>
    </details>
  );
}

function ThreadHeader({ id, thread }: { id: string; thread: Thread | undefined }) {
  const strings = useStrings();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <header className="thread-head">
      <Link to="/threads" className="back">← {strings.threads}</Link>
      <h1 ref={title} tabIndex={-1} title={visible(id)}>{visible(id)}</h1>
      {thread && <ThreadStatusTag status={thread.status} testId="thread-status" />}
    </header>
  );
}

/** The run as a picture, loaded when a person opens it. */
function RunPictureSection({ stream }: { stream: StreamState }) {
  const strings = useStrings();
  const picture = (
    <Suspense fallback={<Loading />}>
      <RunPicture events={stream.events} isLive={stream.phase === "running" || stream.phase === "interrupted"} />
    </Suspense>
  );
  return <Collapse ghost size="small" destroyOnHidden styles={{ header: { paddingInline: 0 }, body: { paddingInline: 0 } }} items={[{ key: "picture", label: strings.runPicture, children: picture }]} data-testid="open-picture" />;
}

/** Show that a thread's content was erased. An erasure always covers the whole thread. */
function ThreadErasureNote({ erased }: { erased: Erased }) {
  return <ErasureNote erased={erased} rule={erased.rule === "age" ? "age" : "request"} remains={useRequestStrings().threadErasureNote} />;
}

/** Kinds that show their own time. */
const kindsWithTime = new Set<Item["kind"]>(["run", "end", "pause"]);

/** One item of the timeline; its time is visible only if it differs from the previous one. */
const TimelineItem = memo(function ThreadItem({ item, before }: { item: Item; before: number | null }) {
  const { language } = useStrings();
  const time = item.at === null || kindsWithTime.has(item.kind) ? null : timeOfDay(item.at, language);
  const isNew = before === null || time !== timeOfDay(before, language);
  return (
    <div className={`thread-item of-${item.kind}`} data-kind={item.kind}>
      {item.at !== null && time !== null && (
        <time className={isNew ? "thread-at" : "visually-hidden"} dateTime={new Date(item.at).toISOString()} title={dayAndTime(item.at, language)}>
          {time}
        </time>
      )}
      <div className="thread-body"><ItemBody item={item} /></div>
    </div>
  );
});

/** The pauses that stop an agent. */
function AgentPauses({ agent }: { agent: string }) {
  return <PauseAlerts pauses={pausesOf(usePauses(), agent)} />;
}

/** One thread, live: the agent's output, its questions in place, and the outcome. */
export default function ThreadPage({ id }: { id: string }) {
  const strings = useStrings();
  const { stream, interruption } = useStream(id);
  const { data: thread, error, refetch } = useThread(id, stream.phase === "running");
  const openRequests = useMemo(() => new Set(thread?.pending.map((request) => request.id)), [thread]);
  useKeys(strings.threads, [{ key: "Escape", label: strings.backToThreads, run: () => go("/threads") }]);
  const { items } = stream;
  return (
    <div className="thread">
      <ThreadHeader id={id} thread={thread} />
      <div className="thread-stream">
        {!(thread && isStatus(error, 0)) && <Problem error={error} retry={() => void refetch()} />}
        {items.length === 0 && !error && (thread ? <p className="quiet">{strings.streamEmpty}</p> : <Loading />)}
        {thread && <AgentPauses agent={thread.agent} />}
        {thread?.erased && <ThreadErasureNote erased={thread.erased} />}
        {items.length > 0 && <RunPictureSection stream={stream} />}
        <ThreadTimeline items={items} openRequests={openRequests}>
          {requestsOutsideStream(thread, items).map((request) => (
            <section key={request} className="pause" data-testid="pause"><RequestDetail id={request} isInThread /></section>
          ))}
          {thread && <ThreadFooter thread={thread} items={items} interruption={interruption} />}
        </ThreadTimeline>
        <LiveAnnouncer items={items} />
      </div>
      <DetailsPanel><ThreadDetails thread={thread} stream={stream} /></DetailsPanel>
    </div>
  );
}
