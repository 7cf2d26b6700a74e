import { basePath } from "../base/router";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "./call";
import type { Agent, JsonObject, Page, Request, Thread, ThreadStatus, ThreadSummary } from "./types";

/** Polling interval of lists without events. */
const pollInterval = 3_000;

export const threadPath = (id: string) => `/v1/threads/${encodeURIComponent(id)}`;

/** Return the address of an image in a thread's messages. */
export const imageAddress = (id: string, number: number) => `${basePath}${threadPath(id)}/images/${number}`;

/** The registered agents, polled until one is useful here: a worker may start after the page is opened. */
export function useAgents(isUseful: (agent: Agent) => boolean = () => true) {
  return useQuery({
    queryKey: ["agents"],
    queryFn: () => call<Page<Agent>>("GET", "/v1/agents"),
    refetchInterval: ({ state }) => (state.data?.items.some(isUseful) ? false : pollInterval),
  });
}

export interface ThreadFilters {
  status?: ThreadStatus | undefined;
  agent?: string | undefined;
}

/** One page of the threads, newest first, polled while mounted. */
export function useThreads({ status, agent }: ThreadFilters, cursor: string | null) {
  const query = new URLSearchParams({ limit: "50", ...(status && { status }), ...(agent && { agent }), ...(cursor && { cursor }) });
  return useQuery({
    queryKey: ["threads", status ?? "all", agent ?? "", cursor],
    queryFn: () => call<Page<ThreadSummary>>("GET", `/v1/threads?${query.toString()}`),
    placeholderData: keepPreviousData,
    refetchInterval: pollInterval,
  });
}

/** The open requests of these threads that this person can see, by thread. */
export function useRequestsByThread(threads: ThreadSummary[]) {
  const waiting = threads.filter(({ status }) => status === "interrupted");
  return useQuery({
    // The key changes only when a thread has changed, because open requests may be large.
    queryKey: ["asked", ...waiting.map(({ id, updated_at }) => `${id} ${updated_at}`)],
    queryFn: () => call<Page<Request>>("GET", "/v1/requests?status=pending&limit=200"),
    select: ({ items }) => Map.groupBy(items, ({ thread_id }) => thread_id ?? ""),
    placeholderData: keepPreviousData,
    enabled: waiting.length > 0,
  });
}

export function useThread(id: string, streaming: boolean) {
  return useQuery({
    queryKey: ["thread", id],
    queryFn: () => call<Thread>("GET", threadPath(id)),
    // The stream may show the end of a run before the thread's record does.
    refetchInterval: ({ state }) => (streaming || state.data?.status === "running" ? 2_000 : false),
  });
}

export function useStartRun() {
  return useMutation({
    mutationFn: ({ thread, agent, input }: { thread: string; agent: string; input: JsonObject }) =>
      call<{ thread_id: string; run_id: string }>("POST", `${threadPath(thread)}/runs`, { agent, input }),
  });
}

/** An action on a whole run. */
type RunAction = "cancel" | "retry" | "ask-again" | "abandon";

export function useRunAction(how: RunAction) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ thread, reason }: { thread: string; reason?: string | undefined }) =>
      call<Thread>("POST", `${threadPath(thread)}/${how}`, reason ? { reason } : {}),
    onSuccess: (thread) => client.setQueryData(["thread", thread.id], thread),
    onSettled: (_thread, _error, { thread }) => {
      for (const queryKey of [["thread", thread], ["threads"], ["operations"]]) void client.invalidateQueries({ queryKey });
    },
  });
}
