import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { requestQuery } from "../api/requests";
import { serverNow } from "../api/server-clock";
import type { Request } from "../api/types";
import type { Horizon } from "../api/urgency";
import { toolKey, type Grouping, type InboxRow } from "./flood";
import { mergeRows, newlyDue, openBundle, resetRows, dropFinished, type RowState } from "./stable-rows";

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
