import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Request } from "../api/types";
import { followed, renewed, tidied, type Row, type Shown } from "./steady";

interface State extends Shown {
  /** Of which list the rows are. */
  of: string;
  listed: readonly Request[] | undefined;
}

export interface Steady extends State {
  showNew: () => void;
  tidy: (decided: string) => void;
}

function next(state: State, of: string, listed: readonly Request[], client: QueryClient, isCalm: boolean): State {
  const latest = (id: string) => client.getQueryData<Request>(["request", id]);
  const shown = state.of === of ? followed(state, listed, latest) : renewed(listed);
  return { ...(isCalm && shown.fresh.length > state.fresh.length ? renewed(listed) : shown), of, listed };
}

/** The rows of a list, held still; what arrives while it is calm joins by itself. */
export function useSteady(of: string, listed: readonly Request[] | undefined, isCalm: boolean): Steady {
  const client = useQueryClient();
  const [state, setState] = useState<State>({ rows: [], fresh: [], of: "", listed: undefined });
  if (listed && (listed !== state.listed || of !== state.of)) setState(next(state, of, listed, client, isCalm));
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
