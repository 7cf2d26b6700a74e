import { useInfiniteQuery, type QueryKey } from "@tanstack/react-query";
import { call } from "./call";
import { listPath, type Filters, type ListPage, type Pages } from "./lists";
import { lists } from "./requests";
import type { Page, Request } from "./types";

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
