import { useQuery } from "@tanstack/react-query";
import { call } from "../api/call";
import type { TroublePage } from "../api/schema";
import type { Session } from "../api/types";

const maxCount = 100;

/** How many runs need an operator, for who may look; nothing when none does. */
export function useTroubleCount({ role }: Session): string {
  const { data } = useQuery({
    queryKey: ["operations", "count"],
    queryFn: () => call<TroublePage>("GET", `/v1/operations?limit=${maxCount}`),
    enabled: role !== "agent",
    // No event of the feed tells of a run that fails.
    refetchInterval: 15_000,
  });
  const count = data?.items.length ?? 0;
  return count === 0 ? "" : `${count}${data?.next ? "+" : ""}`;
}
