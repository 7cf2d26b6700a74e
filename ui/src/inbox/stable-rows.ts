import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { serverNow } from "../api/call";
import { isBefore, moreUrgentThan, compareUrgency, sectionOf, type Horizon } from "../api/lists";
import { requestQuery } from "../api/requests";
import type { Request } from "../api/types";
import { equalKey, equalRows, membersOf, toolKey, withoutFlood, type Grouping, type InboxRow } from "./flood";

export interface RowState {
  rows: readonly InboxRow[];
  /** New requests that wait until the person shows them. */
  newRequests: readonly Request[];
  /** The times by which the rows are sorted; null for a list in another order. */
  horizon: Horizon | null;
  /** The time at which the rows were placed, in milliseconds: requests from later are new, wherever they belong. */
  placedAt: number;
}

/** Return rows that equal the list, sorted by the horizon. */
export function resetRows(
  listed: readonly Request[], horizon: Horizon | null = null, grouping: Grouping | null = null, placedAt = Number.POSITIVE_INFINITY,
): RowState {
  const sorted = horizon ? listed.toSorted((one, other) => compareUrgency(one, other, horizon)) : listed;
  return { rows: withoutFlood(equalRows(sorted, horizon), grouping), newRequests: [], horizon, placedAt };
}

type Latest = (id: string) => Request | undefined;

function updateRow(row: InboxRow, listed: ReadonlyMap<string, Request>, latest: Latest): InboxRow {
  const before = membersOf(row);
  const members = before.flatMap(({ id }) => listed.get(id) ?? []);
  const isOutdated = members.length === 0;
  const request = members[0] ?? latest(row.request.id) ?? row.request;
  const isSame = isOutdated ? row.others.length === 0 : members.length === before.length && members.every((member, at) => member === before[at]);
  return isSame && request === row.request && isOutdated === row.isOutdated ? row : { ...row, request, isOutdated, others: members.slice(1) };
}

/** Add requests to the rows of their like; return the rows and the requests that are like none. */
function joinRows(rows: readonly InboxRow[], added: readonly Request[]): { rows: readonly InboxRow[]; rest: readonly Request[] } {
  if (added.length === 0) return { rows, rest: added };
  const places = new Map<string, number>();
  rows.forEach((row, at) => {
    if (row.isOutdated) return;
    if (equalKey(row.request)) places.set(`equal ${equalKey(row.request)}`, at);
    if (row.bundle === "tool") places.set(`tool ${toolKey(row.request)}`, at);
  });
  const placeOf = (request: Request) => places.get(`equal ${equalKey(request)}`) ?? places.get(`tool ${toolKey(request)}`);
  const joining = Map.groupBy(added, (request) => placeOf(request));
  const join = (row: InboxRow, more: Request[] | undefined): InboxRow =>
    (more ? { ...row, others: [...row.others, ...more], bundle: row.bundle ?? "equal" } : row);
  return { rows: rows.map((row, at) => join(row, joining.get(at))), rest: joining.get(undefined) ?? [] };
}

/**
 * Merge the current list into the rows without moving or removing a row.
 *
 * Requests of the next pages are appended; new ones wait in `newRequests`.
 */
export function mergeRows(
  { rows, horizon, placedAt }: RowState, listed: readonly Request[], latest: Latest, grouping: Grouping | null = null,
): RowState {
  const last = rows.at(-1)?.request;
  if (!last) return resetRows(listed, horizon, grouping, placedAt);
  const now = new Map(listed.map((request) => [request.id, request]));
  const known = new Set(rows.flatMap((row) => membersOf(row).map(({ id }) => id)));
  const { rows: updated, rest } = joinRows(rows.map((row) => updateRow(row, now, latest)), listed.filter(({ id }) => !known.has(id)));
  const comesBefore = horizon ? moreUrgentThan(horizon) : isBefore;
  const isBelow = (request: Request) => comesBefore(last, request) && Date.parse(request.created_at) <= placedAt;
  const below = withoutFlood([...resetRows(rest.filter(isBelow), horizon).rows], grouping, updated);
  return { rows: [...updated, ...below], newRequests: rest.filter((request) => !isBelow(request)), horizon, placedAt };
}

/** Replace a bundle by its requests, below each other. */
export function openBundle({ rows, ...state }: RowState, id: string): RowState {
  const opened = (row: InboxRow) => (row.request.id === id && row.bundle === "tool" ? equalRows(membersOf(row), state.horizon) : [row]);
  return { ...state, rows: rows.flatMap(opened) };
}

/** Return the pending requests whose section has changed since their rows were placed. */
export function newlyDue({ rows }: RowState, present: Horizon | null): Request[] {
  if (!present) return [];
  const isMoved = ({ request, isOutdated, section }: InboxRow) => !isOutdated && section !== null && section !== sectionOf(request, present);
  return rows.filter(isMoved).map(({ request }) => request);
}

/** Remove the rows that no longer belong to the list, and the request that was just decided. */
export function dropFinished({ rows, ...rest }: RowState, decided: string): RowState {
  const left = rows.flatMap((row) => {
    if (row.request.id !== decided) return row.isOutdated ? [] : [row];
    const [request, ...others] = row.others;
    return request ? [{ ...row, request, others }] : [];
  });
  return { ...rest, rows: left };
}

/** Return the request to open next: the next pending one that waits for this person, else the previous one. */
export function nextPending(rows: readonly InboxRow[], decided: Request, isWaiting: (request: Request) => boolean = () => true): Request | undefined {
  const at = rows.findIndex((row) => membersOf(row).some(({ id }) => id === decided.id));
  const isOpen = (row: InboxRow) => !row.isOutdated && row.request.status === "pending" && isWaiting(row.request);
  const isAlike = ({ request: { agent, action } }: InboxRow) => agent === decided.agent && action?.name === decided.action?.name;
  // A request that is not in the list is followed by one of the same tool.
  if (at < 0) return (rows.find((row) => isAlike(row) && isOpen(row)) ?? rows.find(isOpen))?.request;
  return (rows.slice(at + 1).find(isOpen) ?? rows.slice(0, at).findLast(isOpen))?.request;
}

interface State extends RowState {
  /** The list that the rows belong to. */
  listKey: string;
  listed: readonly Request[] | undefined;
  /** The time of the last reply; between replies only the feed changes the list. */
  asOf: number | undefined;
  /** The horizon of now, by which rows may have become due. */
  present: Horizon | null;
  /** The number of requests that wait for `showNew`: new ones, and those that have become due. */
  waiting: number;
  /** The bundles of a flood that the person has opened. */
  opened: ReadonlySet<string>;
  /** Rows that a reply removed from the list without their outcome. */
  withoutOutcome: readonly string[];
}

export interface StableRows extends State {
  /** Place all rows anew, and return the request of the first one. */
  showNew: () => Request | undefined;
  dropFinished: (decided: string) => void;
  /** Show the requests of a flood's bundle one by one. */
  openBundle: (row: InboxRow) => void;
}

const maxRefetched = 50;
const none: readonly string[] = [];

/** Return the rows that have just left the list and still look pending. */
function newlyOutdated(old: RowState, view: RowState): string[] {
  const before = new Set(old.rows.filter(({ isOutdated }) => isOutdated).map(({ request }) => request.id));
  const now = view.rows.filter(({ isOutdated, request }) => isOutdated && request.status === "pending" && !before.has(request.id));
  return now.slice(0, maxRefetched).map(({ request }) => request.id);
}

interface ListSource {
  /** The list's key. */
  listKey: string;
  listed: readonly Request[] | undefined;
  asOf: number | undefined;
  present: Horizon | null;
  isInactive: boolean;
  /** True if a flood is bundled by tool. */
  isBundled: boolean;
}

const waitingIn = (view: RowState, present: Horizon | null) => view.newRequests.length + newlyDue(view, present).length;

const nothingOpened: ReadonlySet<string> = new Set();

const groupingOf = ({ isBundled, present }: ListSource, opened: ReadonlySet<string>): Grouping | null =>
  (isBundled ? { now: present?.now ?? Date.now(), opened } : null);

function nextState(state: State, list: ListSource, listed: readonly Request[], client: QueryClient): State {
  const { listKey, asOf, present, isInactive } = list;
  const opened = state.listKey === listKey ? state.opened : nothingOpened;
  const reset = () => resetRows(listed, present, groupingOf(list, opened), serverNow());
  const latest = (id: string) => client.getQueryData<Request>(["request", id]);
  const isShown = state.listKey === listKey && state.rows.length > 0;
  const merged = isShown ? mergeRows(state, listed, latest, groupingOf(list, opened)) : reset();
  const view = isInactive && waitingIn(merged, present) > state.waiting ? reset() : merged;
  const withoutOutcome = asOf === state.asOf ? none : newlyOutdated(state, view);
  return { ...view, listKey, listed, asOf, present, waiting: waitingIn(view, present), opened, withoutOutcome };
}

const emptyState: State = {
  rows: [], newRequests: [], horizon: null, placedAt: 0, listKey: "", listed: undefined, asOf: undefined, present: null, waiting: 0, opened: nothingOpened, withoutOutcome: none,
};

/** Hold a list's rows still; new requests join by themselves only while nobody uses the list. */
export function useStableRows(list: ListSource): StableRows {
  const { listKey, listed, present } = list;
  const client = useQueryClient();
  const [state, setState] = useState(emptyState);
  const isChanged = listed !== state.listed || listKey !== state.listKey || present !== state.present;
  if (listed && isChanged) setState(nextState(state, list, listed, client));
  // The feed was disconnected when these rows left, so it never sent their outcomes.
  useEffect(() => {
    for (const id of state.withoutOutcome) void client.prefetchQuery({ ...requestQuery(id), staleTime: 0 });
  }, [client, state.withoutOutcome]);
  // A row may leave the list before the feed says how its request ended.
  useEffect(() => client.getQueryCache().subscribe(({ type, query: { queryKey, state: { data } } }) => {
    if (type !== "updated" || queryKey[0] !== "request" || !data) return;
    const changed = data as Request;
    setState((old) => {
      const isLate = ({ isOutdated, request }: InboxRow) => isOutdated && request.id === changed.id && request.version < changed.version;
      if (!old.rows.some(isLate)) return old;
      return { ...old, rows: old.rows.map((row) => (isLate(row) ? { ...row, request: changed } : row)) };
    });
  }), [client]);
  return {
    ...state,
    showNew: () => {
      const view = resetRows(state.listed ?? [], state.present, groupingOf(list, state.opened), serverNow());
      setState((old) => ({ ...old, ...view, waiting: 0 }));
      return view.rows[0]?.request;
    },
    openBundle: ({ request }) => setState((old) => ({
      ...old, ...openBundle(old, request.id), opened: new Set([...old.opened, toolKey(request)]),
    })),
    dropFinished: (decided) => setState((old) => {
      const left = dropFinished(old, decided);
      return { ...old, ...left, waiting: waitingIn(left, old.present) };
    }),
  };
}
