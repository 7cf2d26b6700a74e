import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { requestQuery } from "../api/requests";
import type { Request } from "../api/types";
import { mergeRows, resetRows, dropFinished, type InboxRow, type RowState } from "./stable-rows";

interface State extends RowState {
  /** The list that the rows belong to. */
  listKey: string;
  listed: readonly Request[] | undefined;
  /** The time of the last reply; between replies only the feed changes the list. */
  asOf: number | undefined;
  /** Rows that a reply removed from the list without their outcome. */
  withoutOutcome: readonly string[];
}

export interface StableRows extends State {
  showNew: () => void;
  dropFinished: (decided: string) => void;
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
  isInactive: boolean;
}

function nextState(state: State, { listKey, asOf, isInactive }: ListSource, listed: readonly Request[], client: QueryClient): State {
  const latest = (id: string) => client.getQueryData<Request>(["request", id]);
  const merged = state.listKey === listKey ? mergeRows(state, listed, latest) : resetRows(listed);
  const view = isInactive && merged.newRequests.length > state.newRequests.length ? resetRows(listed) : merged;
  return { ...view, listKey, listed, asOf, withoutOutcome: asOf === state.asOf ? none : newlyOutdated(state, view) };
}

/** Hold a list's rows still; new requests join by themselves only while nobody uses the list. */
export function useStableRows(list: ListSource): StableRows {
  const { listKey, listed } = list;
  const client = useQueryClient();
  const [state, setState] = useState<State>({ rows: [], newRequests: [], listKey: "", listed: undefined, asOf: undefined, withoutOutcome: none });
  if (listed && (listed !== state.listed || listKey !== state.listKey)) setState(nextState(state, list, listed, client));
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
    showNew: () => setState((old) => ({ ...old, ...resetRows(old.listed ?? []) })),
    dropFinished: (decided) => setState((old) => ({ ...old, ...dropFinished(old, decided) })),
  };
}
