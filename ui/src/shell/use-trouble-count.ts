import { useQuery } from "@tanstack/react-query";
import { call } from "../api/call";
import type { TroublePage } from "../api/schema";
import type { Session } from "../api/types";

const maxCount = 100;

/** Return the number of runs that need an operator as text; empty for none. */
export function useTroubleCount({ role }: Session): string {
  const { data } = useQuery({
    queryKey: ["operations", "count"],
    queryFn: () => call<TroublePage>("GET", `/v1/operations?limit=${maxCount}`),
    enabled: role !== "agent",
    // The feed has no event for a failed run.
    refetchInterval: 15_000,
  });
  const count = data?.items.length ?? 0;
  return count === 0 ? "" : `${count}${data?.next ? "+" : ""}`;
}
