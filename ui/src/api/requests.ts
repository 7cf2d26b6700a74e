import {
  useInfiniteQuery, useMutation, useQuery, useQueryClient, type InfiniteData, type QueryClient,
} from "@tanstack/react-query";
import { call, isStatus } from "./call";
import type { Answer, Page, Request } from "./types";

export type Shown = "pending" | "all";
type Pages = InfiniteData<Page<Request>, string | null>;

const path = (id: string) => `/v1/requests/${encodeURIComponent(id)}`;

function listPath(shown: Shown, cursor: string | null): string {
  const query = new URLSearchParams({ limit: "50" });
  if (shown === "pending") query.set("status", "pending");
  if (cursor) query.set("cursor", cursor);
  return `/v1/requests?${query.toString()}`;
}

export function useRequests(shown: Shown) {
  return useInfiniteQuery({
    queryKey: ["requests", shown],
    queryFn: ({ pageParam }) => call<Page<Request>>("GET", listPath(shown, pageParam)),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
  });
}

export function useRequest(id: string) {
  return useQuery({ queryKey: ["request", id], queryFn: () => call<Request>("GET", path(id)) });
}

function placed(pages: Pages, request: Request, shown: Shown): Pages {
  const wanted = shown === "all" || request.status === "pending";
  const known = pages.pages.some((page) => page.items.some((item) => item.id === request.id));
  const changed = pages.pages.map((page, index) => {
    const first = index === 0 && !known && wanted ? [request] : [];
    const rest = page.items.flatMap((item) => {
      if (item.id !== request.id) return [item];
      return wanted ? [newer(item, request)] : [];
    });
    return { ...page, items: [...first, ...rest] };
  });
  return { ...pages, pages: changed };
}

function newer(old: Request | undefined, request: Request): Request {
  return old && old.version > request.version ? old : request;
}

/** Put what the server said about one request into every query that shows it; an older version changes nothing. */
export function keep(client: QueryClient, request: Request): void {
  const known = client.getQueryData<Request>(["request", request.id]);
  const latest = newer(known, request);
  client.setQueryData(["request", request.id], latest);
  for (const shown of ["pending", "all"] as const) {
    client.setQueryData<Pages>(["requests", shown], (pages) => pages && placed(pages, latest, shown));
  }
}

/** Take a request that this person may not see any more out of every list; where it is open, ask the server again. */
export function drop(client: QueryClient, id: string): void {
  for (const shown of ["pending", "all"] as const) {
    client.setQueryData<Pages>(["requests", shown], (old) => old && {
      ...old, pages: old.pages.map((page) => ({ ...page, items: page.items.filter((item) => item.id !== id) })),
    });
  }
  void client.resetQueries({ queryKey: ["request", id] });
}

export function useRespond(request: Request) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (answer: Answer) =>
      call<Request>("POST", `${path(request.id)}/respond`, { ...answer, digest: request.digest }),
    onSuccess: (completed) => keep(client, completed),
    onError: (error) => {
      if (isStatus(error, 409)) void client.invalidateQueries({ queryKey: ["request", request.id] });
    },
  });
}
