import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { call } from "./call";
import type { Count, Counts } from "./types";

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
