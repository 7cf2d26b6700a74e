import { useMutation, useQuery, useQueryClient, type QueryFunctionContext } from "@tanstack/react-query";
import { useMemo } from "react";
import { call, untilNext } from "./call";
import { useSession } from "./session";
import type { Absence, Away, Page, Session } from "./types";

const path = "/v1/away";
const pathOfAll = "/v1/absences";
const queryKey = ["away"];

/** A signed-in person, with the people for whom they stand. */
export type Person = Session & { deputyFor: Absence[] };

const nobody: Absence[] = [];

async function readAway({ client }: QueryFunctionContext): Promise<Away> {
  const before = client.getQueryData<Away>(queryKey);
  const away = await call<Away>("GET", path);
  // The feed sends no event for a request that becomes visible because its person leaves.
  if (before && JSON.stringify(before.deputy_for) !== JSON.stringify(away.deputy_for)) {
    for (const key of ["requests", "request", "counts"]) void client.invalidateQueries({ queryKey: [key] });
  }
  return away;
}

/** The person's own absence and those in which they are the deputy, read again when one ends. */
export function useAway() {
  const role = useSession().data?.role;
  return useQuery({
    queryKey, queryFn: readAway, enabled: role === "person" || role === "admin",
    refetchInterval: ({ state: { data } }) => untilNext(data ? [data.absence, ...data.deputy_for] : []),
  });
}

/** The signed-in person with those for whom they stand; null if nobody is signed in. */
export function usePerson(): Person | null | undefined {
  const session = useSession().data;
  const deputyFor = useAway().data?.deputy_for ?? nobody;
  return useMemo(() => session && { ...session, deputyFor }, [session, deputyFor]);
}

/** Name a deputy until a time, as text of RFC 3339. */
export function useLeave() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (absence: Pick<Absence, "deputy" | "until"> & { unknown?: true }) => call<Away>("PUT", path, absence),
    onSuccess: (away) => {
      client.setQueryData(queryKey, away);
      // A read that is under way would put back what it was before.
      void client.invalidateQueries({ queryKey });
    },
  });
}

export function useComeBack() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call("DELETE", path),
    onSuccess: () => {
      client.setQueryData<Away>(queryKey, (away) => away && { ...away, absence: null });
      void client.invalidateQueries({ queryKey });
    },
  });
}

// Below the person's own key, so that what rereads one rereads both.
const keyOfAll = [...queryKey, "all"];

/** All absences of the tenant, which auditors and administrators may read; read again when one ends. */
export function useAbsences(isEnabled: boolean) {
  return useQuery({
    queryKey: keyOfAll, queryFn: () => call<Page<Absence>>("GET", pathOfAll), enabled: isEnabled,
    refetchInterval: ({ state: { data } }) => untilNext(data?.items ?? []),
  });
}

/** End the absence of another person, as an administrator. */
export function useEndAbsence() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ person }: Absence) => call("DELETE", `${pathOfAll}?person=${encodeURIComponent(person)}`),
    onSettled: () => client.invalidateQueries({ queryKey }),
  });
}
