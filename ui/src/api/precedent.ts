import { useQuery } from "@tanstack/react-query";
import { call } from "./call";
import type { Precedent } from "./schema";
import type { Request } from "./types";

/** How people decided the calls of the same tool; it is read once for each request that is opened. */
export function usePrecedent({ id, action, first_of_kind: isFirst }: Request) {
  return useQuery({
    queryKey: ["precedent", id],
    queryFn: () => call<Precedent>("GET", `/v1/requests/${encodeURIComponent(id)}/precedent`),
    enabled: action !== null && !isFirst,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
}
