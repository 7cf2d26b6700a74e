import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "./call";
import type * as api from "./schema";
import type { JsonObject } from "./schema";

/** A suggested rule with its conditions as plain JSON. */
export type Suggestion = Omit<api.Suggestion, "where"> & { where: JsonObject };

const key = ["suggestions"];

/** The rules that the decisions of people suggest. */
export function useSuggestions() {
  return useQuery({ queryKey: key, queryFn: () => call<{ items: Suggestion[] }>("GET", "/v1/suggestions"), staleTime: 60_000 });
}

/** Switch on a suggested rule with its usual limits. */
export function useAcceptSuggestion(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<api.Request>("POST", `/v1/suggestions/${encodeURIComponent(id)}/accept`, {}),
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: key }), client.invalidateQueries({ queryKey: ["grants"] })]),
  });
}

/** The checks of people's attention; only for administrators and auditors. */
export function useChecks(enabled: boolean) {
  return useQuery({ queryKey: ["checks"], queryFn: () => call<api.CheckReport>("GET", "/v1/checks"), enabled, staleTime: 10_000 });
}
