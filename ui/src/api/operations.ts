import { useInfiniteQuery } from "@tanstack/react-query";
import { call } from "./call";
import type { Trouble } from "./schema";
import type { Page } from "./types";

export type { Trouble };

function path(cursor: string | null): string {
  return `/v1/operations?${new URLSearchParams({ limit: "100", ...(cursor && { cursor }) }).toString()}`;
}

/** The runs that cannot continue by themselves, polled while mounted. */
export function useTroubles() {
  return useInfiniteQuery({
    queryKey: ["operations"],
    queryFn: ({ pageParam }) => call<Page<Trouble>>("GET", path(pageParam)),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    refetchInterval: 3_000,
  });
}
