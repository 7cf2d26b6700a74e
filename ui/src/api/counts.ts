import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { call } from "./call";
import type { Count, Counts } from "./types";

/** "12", or "999+" where the server stopped counting. */
const formatCount = (count: Count | null | undefined) => count && `${count.count}${count.more ? "+" : ""}`;

function everyMinute(look: () => void): () => void {
  const timer = setInterval(look, 60_000);
  return () => clearInterval(timer);
}

/** When this day began here, as a time of the server. */
const useMidnight = () => useSyncExternalStore(everyMinute, () => new Date(new Date().toDateString()).toISOString());

/** How many requests wait, how many of them are mine, and how many have ended today; as text. */
export function useCounts() {
  const since = useMidnight();
  const { data } = useQuery({
    queryKey: ["counts", since],
    queryFn: () => call<Counts>("GET", `/v1/requests/counts?since=${encodeURIComponent(since)}`),
  });
  return data && { pending: formatCount(data.pending), mine: formatCount(data.mine), today: formatCount(data.ended) };
}
