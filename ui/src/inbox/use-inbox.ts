import { useState, type FocusEvent, type PointerEvent, type UIEvent, useEffect, useMemo, useRef } from "react";
import { usePerson } from "../api/absences";
import { serverNow } from "../api/call";
import { horizonOf, isUrgentFirst, newerVersion, type Filters, type Pages, horizonAt, nextChange, type Horizon } from "../api/lists";
import { useRequests, usePendingAnswers } from "../api/requests";
import type { Request } from "../api/types";
import { useMedia, usePreference } from "../base/browser";
import { useKeys, type Shortcut } from "../base/keys";
import { useStrings } from "../strings";
import { useMessages } from "../widgets/messages";
import { explain } from "../widgets/problem";
import { bulkRefusal, type BulkStatus, type BulkDecision, useBulk, type BulkDecisions } from "./bulk";
import { type InboxRow, membersOf } from "./flood";
import { searchOf, useFilters, closeRequest, openRequest } from "./inbox-url";
import { useStableRows, type StableRows } from "./stable-rows";

interface Cursor {
  /** The row that has the keyboard focus; initially the first. */
  id: string | undefined;
  index: number;
  /** The row that should get the focus; the count tells repeated targets apart. */
  focusTarget: { id: string; count: number } | undefined;
  /** Move to a row and focus it. */
  focus: (id: string) => void;
  /** Record that the focus is on a row. */
  at: (id: string) => void;
  /** Return the id of the row that many steps away, within the list. */
  step: (by: number) => string | undefined;
}

function useCursor(rows: readonly InboxRow[], openId: string | undefined): Cursor {
  const [position, setPosition] = useState<string>();
  const [focusTarget, setFocusTarget] = useState<Cursor["focusTarget"]>();
  const find = (id: string | undefined) => rows.findIndex(({ request, others }) => request.id === id || others.some((other) => other.id === id));
  const index = [position, openId].map(find).find((found) => found >= 0) ?? 0;
  const here = rows[index]?.request.id;
  // The first step leads to the first row, not to the second.
  const isSomewhere = here !== undefined && (here === position || here === openId);
  return {
    id: here,
    index,
    focusTarget,
    focus: (id) => {
      setPosition(id);
      setFocusTarget((old) => ({ id, count: (old?.count ?? 0) + 1 }));
    },
    at: setPosition,
    step: (by) => rows[Math.max(0, Math.min(rows.length - 1, isSomewhere ? index + by : 0))]?.request.id,
  };
}

interface Selectable {
  id: string;
  /** The requests of the row that can be selected. */
  ids: readonly string[];
}

interface Selection {
  ids: ReadonlySet<string>;
  toggle: (id: string, ids?: readonly string[]) => void;
  /** Select the range from the last touched row to this one. */
  extend: (rows: readonly Selectable[], id: string) => void;
  set: (ids: Iterable<string>) => void;
}

interface State {
  ids: ReadonlySet<string>;
  anchor?: string;
  /** The selection before a range started; a smaller range restores the rest. */
  base: ReadonlySet<string>;
}

const nothing: State = { ids: new Set(), base: new Set() };

/** Return the ids of what can be selected between two rows, both included. */
export function idsBetween(rows: readonly Selectable[], one: string, other: string): string[] {
  const [a, b] = [one, other].map((id) => rows.findIndex((row) => row.id === id)).sort((x, y) => x - y);
  if (a === undefined || b === undefined || a < 0) return [];
  return rows.slice(a, b + 1).flatMap((row) => row.ids);
}

/** Select or unselect a row with all its requests. */
export function toggle({ ids }: State, id: string, members: readonly string[] = [id]): State {
  const base = ids.has(id) ? new Set([...ids].filter((each) => each !== id && !members.includes(each))) : new Set([...ids, ...members]);
  return { ids: base, base, anchor: id };
}

export function extend({ anchor, base }: State, rows: readonly Selectable[], id: string): State {
  return { ids: new Set([...base, ...idsBetween(rows, anchor ?? id, id)]), base, anchor: anchor ?? id };
}

/** The selected rows of a list; another list starts with none. */
function useSelection(list: string): Selection {
  const [state, setState] = useState(nothing);
  const [of, setOf] = useState(list);
  if (of !== list) {
    setOf(list);
    setState(nothing);
  }
  return {
    ids: state.ids,
    toggle: (id, ids) => setState((old) => toggle(old, id, ids)),
    extend: (rows, id) => setState((old) => extend(old, rows, id)),
    set: (ids) => setState({ ids: new Set(ids), base: new Set(ids) }),
  };
}

/** Return whether nobody points at, focuses or scrolls the list, so that new rows may be inserted. */
function useListActivity() {
  // A touch screen has no hover, so rows there never move by themselves.
  const hovers = useMedia("(hover: hover)");
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const [scrolled, setScrolled] = useState(false);
  const handlers = {
    onPointerEnter: ({ pointerType }: PointerEvent) => setPointed(pointerType === "mouse"),
    onPointerLeave: () => setPointed(false),
    onFocus: () => setFocused(true),
    onBlur: ({ currentTarget, relatedTarget }: FocusEvent) => setFocused(currentTarget.contains(relatedTarget)),
    onScrollCapture: ({ target }: UIEvent) => setScrolled((target as HTMLElement).scrollTop > 0),
  };
  return { isInactive: hovers && !pointed && !focused && !scrolled, handlers };
}

/** How often the most urgent requests of a list with more pages are loaded: others may have become due. */
const reloadEvery = 60_000;
const maxWait = 2 ** 31 - 1;

function itemsOf(...lists: (Pages | undefined)[]): Request[] | undefined {
  if (!lists[0]) return undefined;
  const found = new Map<string, Request>();
  for (const request of lists.flatMap((list) => list?.pages.flatMap((page) => page.items) ?? [])) {
    found.set(request.id, newerVersion(found.get(request.id), request));
  }
  return [...found.values()];
}

/** Return the horizon of now; it changes when a listed request becomes due soon or overdue. */
function usePresent(filters: Filters, pages: Pages | undefined, listed: readonly Request[] | undefined): Horizon | null {
  const [now, setNow] = useState(serverNow);
  const isSorted = isUrgentFirst(filters);
  useEffect(() => {
    const next = isSorted ? nextChange(listed ?? [], Math.max(now, serverNow())) : Number.POSITIVE_INFINITY;
    if (!Number.isFinite(next)) return undefined;
    const timer = setTimeout(() => setNow(serverNow()), Math.min(Math.max(next - serverNow(), 0) + 1, maxWait));
    return () => clearTimeout(timer);
  }, [isSorted, listed, now]);
  const loaded = pages && horizonOf(filters, pages)?.now;
  return useMemo(() => (isSorted ? horizonAt(Math.max(now, loaded ?? now)) : null), [isSorted, now, loaded]);
}

/** The loaded requests of a list and the horizon of now. */
function useListed(filters: Filters) {
  const list = useRequests(filters);
  const isLong = list.hasNextPage && isUrgentFirst(filters);
  // The list has just loaded what is most urgent.
  const initialData = () => list.data && { pages: list.data.pages.slice(0, 1), pageParams: list.data.pageParams.slice(0, 1) };
  const head = useRequests({ ...filters, head: true }, { enabled: isLong, refetchInterval: reloadEvery, staleTime: reloadEvery, initialData });
  const headPages = isLong ? head.data : undefined;
  const listed = useMemo(() => itemsOf(list.data, headPages), [list.data, headPages]);
  return { list, listed, present: usePresent(filters, list.data, listed) };
}

/** The state of the inbox and all actions on it. */
export interface InboxState {
  filters: Filters;
  openId: string | undefined;
  list: ReturnType<typeof useRequests>;
  view: StableRows;
  /** The rows are still those of the previous filters. */
  isStale: boolean;
  cursor: Cursor;
  selection: Selection;
  selected: Request[];
  bulk: BulkDecisions;
  bulkStatusOf: (request: Request) => BulkStatus | undefined;
  refusalOf: (request: Request, verdict?: BulkDecision) => string | null;
  /** Event handlers that detect activity on the list. */
  activityHandlers: ReturnType<typeof useListActivity>["handlers"];
}

function useBulkStatus({ statuses }: BulkDecisions, openId: string | undefined) {
  const strings = useStrings();
  const sent = usePendingAnswers();
  return ({ id, version }: Request): BulkStatus | undefined => {
    const one = sent.get(id);
    if (one?.state === "sending") return { state: "sending" };
    // An open request shows its own errors.
    if (one && id !== openId) return { state: "unknown", why: explain(one.error, strings) };
    const status = statuses.get(id);
    return status?.version === undefined || status.version >= version ? status : undefined;
  };
}

/** Return the selection without requests that ended elsewhere. */
function usePendingSelection(listKey: string, listed: readonly Request[] | undefined): Selection {
  const selection = useSelection(listKey);
  if (!listed || selection.ids.size === 0) return selection;
  const pending = listed.filter(({ id, status }) => status === "pending" && selection.ids.has(id));
  return { ...selection, ids: new Set(pending.map(({ id }) => id)) };
}

export function useInbox(openId: string | undefined): InboxState {
  const strings = useStrings();
  const person = usePerson();
  const filters = useFilters();
  const [bundles] = usePreference("bundles");
  const { list, listed, present } = useListed(filters);
  const bulk = useBulk();
  const listKey = searchOf(filters);
  const selection = usePendingSelection(listKey, listed);
  const { isInactive, handlers: activityHandlers } = useListActivity();
  const view = useStableRows({
    listKey, listed, present, asOf: list.data?.pages[0]?.asOf, isInactive: isInactive && openId === undefined && selection.ids.size === 0,
    isBundled: filters.tab !== "done" && filters.tool === undefined && bundles !== "off",
  });
  const { rows } = view;
  const cursor = useCursor(rows, openId);
  return {
    filters, openId, list, view, isStale: view.listKey !== listKey, cursor, selection, bulk, activityHandlers,
    selected: rows.flatMap(membersOf).filter(({ id }) => selection.ids.has(id)),
    bulkStatusOf: useBulkStatus(bulk, openId),
    refusalOf: (request, verdict = "approve") => bulkRefusal(request, verdict, person, strings),
  };
}

const settleTime = 150;

/** Return whether requests are skipped so fast that none should be rendered or react to keys. */
function useFastNavigation(): [boolean, () => void] {
  const [isSkimming, setSkimming] = useState(false);
  const last = useRef(-settleTime);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const moved = () => {
    const now = performance.now();
    if (now - last.current < settleTime) setSkimming(true);
    last.current = now;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setSkimming(false), settleTime);
  };
  return [isSkimming, moved];
}

export interface ListActions {
  isSkimming: boolean;
  /** The person moves through the list with keys, so an opened request must not take the focus. */
  isNavigating: boolean;
  open: (id: string) => void;
  move: (by: number) => void;
  select: (id: string, range: boolean) => void;
  selectMore: (by: number) => void;
  showNew: () => void;
  back: () => void;
}

export function useListActions(inbox: InboxState): ListActions {
  const { cursor, selection, view, openId, refusalOf } = inbox;
  const message = useMessages();
  const [isSkimming, moved] = useFastNavigation();
  const [isNavigating, setNavigating] = useState(false);

  const move = (by: number) => {
    const id = cursor.step(by);
    if (id === undefined) return;
    cursor.focus(id);
    if (openId === undefined || id === openId) return;
    moved();
    setNavigating(true);
    openRequest(id);
  };
  const selectable = (row: InboxRow) => (row.isOutdated ? [] : membersOf(row).filter((request) => !refusalOf(request)).map((request) => request.id));
  const selectTo = (id: string) => {
    selection.extend(view.rows.map((row) => ({ id: row.request.id, ids: selectable(row) })), id);
  };
  const select = (id: string, range: boolean) => {
    const row = view.rows.find(({ request }) => request.id === id);
    const refusal = row && refusalOf(row.request);
    cursor.at(id);
    if (refusal && !selection.ids.has(id)) void message.info({ content: refusal, key: "refusal" });
    else if (range) selectTo(id);
    else selection.toggle(id, row && selectable(row));
  };
  return {
    isSkimming, isNavigating, move, select,
    open: (id) => {
      const row = view.rows.find(({ request }) => request.id === id);
      if (row?.bundle === "tool") view.openBundle(row);
      setNavigating(false);
      cursor.at(id);
      openRequest(id);
    },
    selectMore: (by) => {
      const id = cursor.step(by);
      if (id === undefined) return;
      if (selection.ids.size === 0 && cursor.id) selectTo(cursor.id);
      selectTo(id);
      cursor.focus(id);
    },
    showNew: () => {
      const first = view.showNew();
      if (first) cursor.focus(first.id);
    },
    back: () => {
      if (selection.ids.size > 0) return selection.set([]);
      if (openId !== undefined) closeRequest();
    },
  };
}

/** Bind the list's keyboard shortcuts; `search` focuses the search box. */
export function useListKeys(inbox: InboxState, actions: ListActions, search: () => void): void {
  const strings = useStrings();
  const { keys } = strings;
  const { cursor, openId, view } = inbox;
  const onCursor = (act: (id: string) => void) => () => cursor.id !== undefined && act(cursor.id);
  const shortcuts: (Shortcut | false)[] = [
    { key: "j", label: keys.next, run: () => actions.move(1) },
    { key: "k", label: keys.previous, run: () => actions.move(-1) },
    openId === undefined && { key: "Enter", label: keys.open, run: onCursor(actions.open) },
    { key: "x", label: keys.select, run: onCursor((id) => actions.select(id, false)), once: true },
    { key: "X", label: keys.range, run: onCursor((id) => actions.select(id, true)), once: true },
    view.waiting > 0 && { key: "n", label: keys.showNewRequests, run: actions.showNew },
    view.waiting > 0 && { key: ".", label: keys.showNewRequests, run: actions.showNew },
    { key: "/", label: keys.search, run: search },
    { key: "Escape", label: keys.back, run: actions.back },
  ];
  useKeys(strings.inbox, shortcuts.filter((shortcut) => shortcut !== false));
}
