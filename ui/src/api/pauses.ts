import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call, untilNext } from "./call";
import { threadPath } from "./threads";
import type { NewPause, Page, Pause, Request, Thread } from "./types";

const path = "/v1/pauses";
const queryKey = ["pauses"];

/** The pauses in force; the feed reports changes, and the list is read again when one ends by itself. */
export function usePauses() {
  return useQuery({
    queryKey, queryFn: () => call<Page<Pause>>("GET", path),
    refetchInterval: ({ state }) => untilNext(state.data?.items ?? []),
  }).data?.items ?? [];
}

const agentPrefix = "agent:";

/** Return the pauses that stop the agent of a request; its thread is read only if one agent is paused. */
export function usePausesOf({ thread_id: thread, asked_by: asker }: Request): Pause[] {
  const pauses = usePauses();
  const agent = useQuery({
    queryKey: ["agent-of", thread], queryFn: async () => (await call<Thread>("GET", threadPath(thread ?? ""))).agent,
    enabled: Boolean(thread) && pauses.some((pause) => pause.agent), staleTime: Infinity,
  }).data;
  return pausesOf(pauses, thread ? agent : asker?.startsWith(agentPrefix) ? asker.slice(agentPrefix.length) : undefined);
}

/** Return the pauses that stop an agent. */
export const pausesOf = (pauses: Pause[], agent: string | undefined) =>
  pauses.filter((pause) => !pause.agent || pause.agent === agent);

export function usePause() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (pause: NewPause) => call<Pause>("POST", path, pause),
    onSuccess: () => client.invalidateQueries({ queryKey }),
  });
}

/** End a pause. */
export function useResume() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: Pause) => call("DELETE", `${path}/${encodeURIComponent(id)}`),
    onSettled: () => client.invalidateQueries({ queryKey }),
  });
}
