import {
  hashKey, useInfiniteQuery, useMutation, useMutationState, useQuery, useQueryClient, type QueryClient,
  type QueryFunctionContext, type QueryKey,
} from "@tanstack/react-query";
import { call, isStatus } from "./call";
import { matchesFilters, includesRequest, listPath, newer, withRequest, withoutRequest, type Filters, type ListPage, type Pages } from "./lists";
import type { Answer, Page, Request, Session } from "./types";

const path = (id: string) => `/v1/requests/${encodeURIComponent(id)}`;
const lists = ["requests"] as const;

export function useRequests(filters: Filters) {
  return useInfiniteQuery({
    queryKey: [...lists, filters],
    queryFn: async ({ pageParam }): Promise<ListPage> => {
      const asOf = Date.now();
      return { ...(await call<Page<Request>>("GET", listPath(filters, pageParam))), asOf };
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    // The feed tells what changed; ten pages asked for again at each look would tell nothing else.
    refetchOnWindowFocus: false,
    // Comparing a thousand requests in depth at each piece of news costs more than drawing the rows on screen anew.
    structuralSharing: false,
  });
}

export const requestQuery = (id: string) => ({
  queryKey: ["request", id],
  queryFn: async ({ client }: QueryFunctionContext) => {
    const loaded = await call<Request>("GET", path(id));
    // While it was on its way the feed went on.
    return newer(client.getQueryData<Request>(["request", id]), loaded);
  },
});

/** One request; what a list has of it is shown at once. */
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

/** Ask for a query again, once for all that happens within a moment. */
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
  const belongsToList = matchesFilters(request, queryKey[1] as Filters, me);
  if (belongsToList === "perhaps" && !includesRequest(pages, request.id)) return refreshSoon(client, queryKey);
  const changed = belongsToList ? withRequest(pages, request) : withoutRequest(pages, request.id);
  if (changed !== pages) client.setQueryData(queryKey, changed);
}

/** Put what the server said about one request into every query that shows it; an older version changes nothing. */
export function cacheRequest(client: QueryClient, request: Request): void {
  const latest = newer(client.getQueryData<Request>(["request", request.id]), request);
  client.setQueryData(["request", request.id], latest);
  for (const { queryKey } of client.getQueryCache().findAll({ queryKey: lists })) updateList(client, queryKey, latest);
  refreshSoon(client, ["counts"], 300);
}

/** Take a request that this person may not see any more out of every list; where it is open, ask the server again. */
export function dropRequest(client: QueryClient, id: string): void {
  for (const { queryKey } of client.getQueryCache().findAll({ queryKey: lists })) {
    client.setQueryData<Pages>(queryKey, (pages) => pages && withoutRequest(pages, id));
  }
  void client.resetQueries({ queryKey: ["request", id] });
  refreshSoon(client, ["counts"], 300);
}

/** While a list is on its way from the server the feed goes on: what it told since then is put in again. */
export function reapplyFeedUpdates(client: QueryClient): () => void {
  return client.getQueryCache().subscribe(({ type, query, ...event }) => {
    const { queryKey } = query;
    if (type !== "updated" || queryKey[0] !== lists[0] || !("action" in event)) return;
    if (event.action.type !== "success" || event.action.manual) return;
    const since = Math.min(...(query.state.data as Pages).pages.map((page) => page.asOf));
    for (const cached of client.getQueryCache().findAll({ queryKey: ["request"] })) {
      if (cached.state.data && cached.state.dataUpdatedAt >= since) updateList(client, queryKey, cached.state.data as Request);
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

export interface PendingAnswer {
  id: string;
  state: "sending" | "failed";
  error: Error | null;
  at: number;
}

/** The decisions of this page that are on their way, and those that did not arrive; of each request the last. */
export function usePendingAnswers(): ReadonlyMap<string, PendingAnswer> {
  const sent = useMutationState<PendingAnswer>({
    filters: { mutationKey: ["respond"], predicate: ({ state }) => state.status !== "success" },
    select: ({ options, state }) => ({
      id: String(options.mutationKey?.[1]), state: state.status === "pending" ? "sending" : "failed", error: state.error, at: state.submittedAt,
    }),
  });
  return new Map(sent.toSorted((one, other) => one.at - other.at).map((one) => [one.id, one]));
}
