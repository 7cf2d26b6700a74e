import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "./call";
import type { GrantView } from "./types";

export type { GrantView };

/** The calls that people have approved in advance, polled while mounted. */
export function useGrants() {
  return useQuery({
    queryKey: ["grants"],
    queryFn: () => call<{ items: GrantView[] }>("GET", "/v1/grants"),
    staleTime: 0,
    refetchInterval: 5_000,
  });
}

/** Revoke one grant. */
export function useRevokeGrant(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<undefined>("POST", `/v1/grants/${encodeURIComponent(id)}/revoke`, {}),
    onSettled: () => client.invalidateQueries({ queryKey: ["grants"] }),
  });
}
