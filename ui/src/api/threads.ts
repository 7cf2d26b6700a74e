import { useMutation, useQuery } from "@tanstack/react-query";
import { call } from "./call";
import type { Agent, JsonObject, Page, Thread, ThreadSummary } from "./types";

export const threadPath = (id: string) => `/v1/threads/${encodeURIComponent(id)}`;

export function useAgents() {
  return useQuery({ queryKey: ["agents"], queryFn: () => call<Page<Agent>>("GET", "/v1/agents") });
}

export function useThreads() {
  return useQuery({
    queryKey: ["threads"],
    queryFn: () => call<Page<ThreadSummary>>("GET", "/v1/threads?limit=50"),
    refetchInterval: 5_000,
  });
}

export function useThread(id: string, streaming: boolean) {
  return useQuery({
    queryKey: ["thread", id],
    queryFn: () => call<Thread>("GET", threadPath(id)),
    // The stream may print the end of a run a moment before the thread's record says so.
    refetchInterval: ({ state }) => (streaming || state.data?.status === "running" ? 2_000 : false),
  });
}

export function useStartRun() {
  return useMutation({
    mutationFn: ({ thread, agent, input }: { thread: string; agent: string; input: JsonObject }) =>
      call<{ thread_id: string; run_id: string }>("POST", `${threadPath(thread)}/runs`, { agent, input }),
  });
}
