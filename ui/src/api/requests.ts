import {
  hashKey, useMutation, useMutationState, useQuery, useQueryClient, type QueryClient, type QueryFunctionContext, type QueryKey,
  useInfiniteQuery,
} from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { call, isStatus } from "./call";
import {
  horizonOf, isBefore, matchesFilters, moreUrgentThan, includesRequest, newerVersion, withRequest, withoutRequest, type Filters,
  type Pages, listPath, type ListPage,
} from "./lists";
import type { Answer, Request, Session, Page, Count, Counts } from "./types";

const path = (id: string) => `/v1/requests/${encodeURIComponent(id)}`;
const lists = ["requests"] as const;

export const requestQuery = (id: string) => ({
  queryKey: ["request", id],
  queryFn: async ({ client }: QueryFunctionContext) => {
    const loaded = await call<Request>("GET", path(id));
    // The feed may have delivered a newer version in the meantime.
    return newerVersion(client.getQueryData<Request>(["request", id]), loaded);
  },
});

/** One request; the version in a list is shown at once. */
export function useRequest(id: string) {
  const client = useQueryClient();
  return useQuery({
    ...requestQuery(id),
    initialData: () => findInLists(client, id)?.request,
    initialDataUpdatedAt: () => findInLists(client, id)?.at,
  });
}

function findInLists(client: QueryClient, id: string): { request: Request; at: number } | undefined {
  for (const { queryKey, state } of client.getQueryCache().findAll({ queryKey: lists })) {
    const pages = client.getQueryData<Pages>(queryKey);
    const request = pages?.pages.flatMap((page) => page.items).find((item) => item.id === id);
    if (request) return { request, at: state.dataUpdatedAt };
  }
  return undefined;
}

const pendingRefreshes = new Set<string>();

/** Refetch a query once for all changes within a moment. */
export function refreshSoon(client: QueryClient, queryKey: QueryKey, moment = 1_000): void {
  const name = hashKey(queryKey);
  if (pendingRefreshes.has(name)) return;
  pendingRefreshes.add(name);
  setTimeout(() => {
    pendingRefreshes.delete(name);
    void client.invalidateQueries({ queryKey });
  }, moment);
}

function updateList(client: QueryClient, queryKey: QueryKey, request: Request): void {
  const pages = client.getQueryData<Pages>(queryKey);
  if (!pages) return;
  const me = client.getQueryData<Session>(["session"])?.name;
  const filters = queryKey[1] as Filters;
  const belongsToList = matchesFilters(request, filters, me);
  if (belongsToList === "perhaps" && !includesRequest(pages, request.id)) return refreshSoon(client, queryKey);
  const horizon = horizonOf(filters, pages);
  const comesBefore = horizon ? moreUrgentThan(horizon) : isBefore;
  const changed = belongsToList ? withRequest(pages, request, comesBefore) : withoutRequest(pages, request.id);
  if (changed !== pages) client.setQueryData(queryKey, changed);
}

function removeFromList(client: QueryClient, queryKey: QueryKey, id: string): void {
  client.setQueryData<Pages>(queryKey, (pages) => pages && withoutRequest(pages, id));
}

/** Put a request into every cached query that shows it, unless it is older than the cached version. */
export function cacheRequest(client: QueryClient, request: Request): void {
  const latest = newerVersion(client.getQueryData<Request>(["request", request.id]), request);
  client.setQueryData(["request", request.id], latest);
  client.removeQueries({ queryKey: ["gone", request.id] });
  for (const { queryKey } of client.getQueryCache().findAll({ queryKey: lists })) updateList(client, queryKey, latest);
  refreshSoon(client, ["counts"], 300);
  refreshSoon(client, ["asked"]);
}

/** Remove a request that this person can no longer see from all lists, and refetch it where it is open. */
export function dropRequest(client: QueryClient, id: string): void {
  for (const { queryKey } of client.getQueryCache().findAll({ queryKey: lists })) removeFromList(client, queryKey, id);
  void client.resetQueries({ queryKey: ["request", id] });
  // For lists that were read before and arrive later.
  client.setQueryData(["gone", id], true);
  refreshSoon(client, ["counts"], 300);
  refreshSoon(client, ["asked"]);
}

/** Apply the feed's changes again to a list that was requested before they arrived. */
export function reapplyFeedUpdates(client: QueryClient): () => void {
  return client.getQueryCache().subscribe(({ type, query, ...event }) => {
    const { queryKey } = query;
    if (type !== "updated" || queryKey[0] !== lists[0] || !("action" in event)) return;
    if (event.action.type !== "success" || event.action.manual) return;
    const since = Math.min(...(query.state.data as Pages).pages.map((page) => page.asOf));
    for (const cached of client.getQueryCache().findAll({ queryKey: ["request"] })) {
      if (cached.state.data && cached.state.dataUpdatedAt >= since) updateList(client, queryKey, cached.state.data as Request);
    }
    for (const { queryKey: [, id], state } of client.getQueryCache().findAll({ queryKey: ["gone"] })) {
      if (state.dataUpdatedAt >= since) removeFromList(client, queryKey, String(id));
    }
  });
}

export function useRespond(request: Request) {
  const client = useQueryClient();
  return useMutation({
    mutationKey: ["respond", request.id],
    mutationFn: (answer: Answer) =>
      call<Request>("POST", `${path(request.id)}/respond`, { ...answer, digest: request.digest }),
    onSuccess: (completed) => cacheRequest(client, completed),
    onError: (error) => {
      if (isStatus(error, 409)) void client.invalidateQueries({ queryKey: ["request", request.id] });
    },
  });
}

/** Undo the person's own held answer, or their reassignment. */
export function useUndo(request: Pick<Request, "id">) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<Request>("POST", `${path(request.id)}/undo`),
    onSuccess: (reopened) => cacheRequest(client, reopened),
    onError: (error) => {
      if (isStatus(error, 409)) void client.invalidateQueries({ queryKey: ["request", request.id] });
    },
  });
}

interface PendingAnswer {
  id: string;
  state: "sending" | "failed";
  error: Error | null;
  at: number;
}

/** Return the last unfinished or failed decision of each request. */
export function usePendingAnswers(): ReadonlyMap<string, PendingAnswer> {
  const sent = useMutationState<PendingAnswer>({
    filters: { mutationKey: ["respond"], predicate: ({ state }) => state.status !== "success" },
    select: ({ options, state }) => ({
      id: String(options.mutationKey?.[1]), state: state.status === "pending" ? "sending" : "failed", error: state.error, at: state.submittedAt,
    }),
  });
  return new Map(sent.toSorted((one, other) => one.at - other.at).map((one) => [one.id, one]));
}

/** The options of a list that is loaded again from time to time. */
interface Reload {
  enabled: boolean;
  refetchInterval: number;
  /** How long its data need not be loaded, in milliseconds. */
  staleTime: number;
  /** What is loaded already; undefined if nothing is. */
  initialData: () => Pages | undefined;
}

export function useRequests(filters: Filters, reload?: Reload) {
  return useInfiniteQuery<ListPage, Error, Pages, QueryKey, string | null>({
    ...reload,
    queryKey: [...lists, filters],
    queryFn: async ({ pageParam }): Promise<ListPage> => {
      const asOf = Date.now();
      return { ...(await call<Page<Request>>("GET", listPath(filters, pageParam))), asOf };
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
    // The feed delivers changes, so a refetch on focus is not needed.
    refetchOnWindowFocus: false,
    // A deep comparison of a thousand requests costs more than rendering the visible rows.
    structuralSharing: false,
  });
}

/** Format a count: "12", or "999+" if the server stopped counting. */
const formatCount = (count: Count | null | undefined) => count && `${count.count}${count.more ? "+" : ""}`;

function everyMinute(look: () => void): () => void {
  const timer = setInterval(look, 60_000);
  return () => clearInterval(timer);
}

/** Return the start of the local day as a server time. */
const useMidnight = () => useSyncExternalStore(everyMinute, () => new Date(new Date().toDateString()).toISOString());

/** Return the counts of pending, own and today's ended requests, as text. */
export function useCounts() {
  const since = useMidnight();
  const { data } = useQuery({
    queryKey: ["counts", since],
    queryFn: () => call<Counts>("GET", `/v1/requests/counts?since=${encodeURIComponent(since)}`),
  });
  return data && { pending: formatCount(data.pending), mine: formatCount(data.mine), today: formatCount(data.ended) };
}
