import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "./call";
import type { JsonObject, Memory, Page } from "./types";

const memoryPath = (id: string) => `/v1/memories/${encodeURIComponent(id)}`;

function path(cursor: string | null): string {
  return `/v1/memories?${new URLSearchParams({ limit: "100", ...(cursor && { cursor }) }).toString()}`;
}

/** The memories of the signed-in person, polled while mounted. */
export function useMemories() {
  return useInfiniteQuery({
    queryKey: ["memories"],
    queryFn: ({ pageParam }) => call<Page<Memory>>("GET", path(pageParam)),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    staleTime: 0,
    refetchInterval: 5_000,
  });
}

/** Change one memory, unless it was changed after `savedAt`. */
export function useEditMemory(id: string, savedAt: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (data: JsonObject) => call<Memory>("PATCH", memoryPath(id), { data, told_at: savedAt }),
    onSettled: () => client.invalidateQueries({ queryKey: ["memories"] }),
  });
}

/** Delete one memory. */
export function useDeleteMemory(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<undefined>("DELETE", memoryPath(id)),
    onSettled: () => client.invalidateQueries({ queryKey: ["memories"] }),
  });
}
