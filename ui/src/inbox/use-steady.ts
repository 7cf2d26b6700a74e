import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { requestQuery } from "../api/requests";
import type { Request } from "../api/types";
import { followed, renewed, tidied, type Row, type Shown } from "./steady";

interface State extends Shown {
  /** Of which list the rows are. */
  of: string;
  listed: readonly Request[] | undefined;
  /** When the server was asked for the list: until it is asked again, only the feed changes the list. */
  asOf: number | undefined;
  /** The rows that a reply of the server took out of the list without their outcome. */
  unexplained: readonly string[];
}

export interface Steady extends State {
  showNew: () => void;
  tidy: (decided: string) => void;
}

const mostAsked = 50;
const none: readonly string[] = [];

/** The rows that have just left the list and still look pending. */
function justLeft(old: Shown, shown: Shown): string[] {
  const before = new Set(old.rows.filter(({ left }) => left).map(({ request }) => request.id));
  const now = shown.rows.filter(({ left, request }) => left && request.status === "pending" && !before.has(request.id));
  return now.slice(0, mostAsked).map(({ request }) => request.id);
}

interface List {
  /** Which list it is. */
  of: string;
  listed: readonly Request[] | undefined;
  asOf: number | undefined;
  isCalm: boolean;
}

function next(state: State, { of, asOf, isCalm }: List, listed: readonly Request[], client: QueryClient): State {
  const latest = (id: string) => client.getQueryData<Request>(["request", id]);
  const steady = state.of === of ? followed(state, listed, latest) : renewed(listed);
  const shown = isCalm && steady.fresh.length > state.fresh.length ? renewed(listed) : steady;
  return { ...shown, of, listed, asOf, unexplained: asOf === state.asOf ? none : justLeft(state, shown) };
}

/** The rows of a list, held still; what arrives while it is calm joins by itself. */
export function useSteady(list: List): Steady {
  const { of, listed } = list;
  const client = useQueryClient();
  const [state, setState] = useState<State>({ rows: [], fresh: [], of: "", listed: undefined, asOf: undefined, unexplained: none });
  if (listed && (listed !== state.listed || of !== state.of)) setState(next(state, list, listed, client));
  // The feed was away when these rows left, so it never sent their outcomes.
  useEffect(() => {
    for (const id of state.unexplained) void client.prefetchQuery({ ...requestQuery(id), staleTime: 0 });
  }, [client, state.unexplained]);
  // The list may say first that a row has left, and the feed only then how its request ended.
  useEffect(() => client.getQueryCache().subscribe(({ type, query: { queryKey, state: { data } } }) => {
    if (type !== "updated" || queryKey[0] !== "request" || !data) return;
    const told = data as Request;
    setState((old) => {
      const isLate = ({ left, request }: Row) => left && request.id === told.id && request.version < told.version;
      if (!old.rows.some(isLate)) return old;
      return { ...old, rows: old.rows.map((row) => (isLate(row) ? { ...row, request: told } : row)) };
    });
  }), [client]);
  return {
    ...state,
    showNew: () => setState((old) => ({ ...old, ...renewed(old.listed ?? []) })),
    tidy: (decided) => setState((old) => ({ ...old, ...tidied(old, decided) })),
  };
}
