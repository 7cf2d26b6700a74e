import { useInfiniteQuery, useMutation, useQueries, useQuery, useQueryClient, type Query } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { call, isStatus } from "../../api/call";
import { refreshSoon, requestQuery } from "../../api/requests";
import type * as api from "../../api/schema";
import type { Json, Agent, Page, Request } from "../../api/types";
import { useStrings } from "../../strings";
import { acceptsEvents } from "./accepts-events";

export type AssistantAction = api.AssistantAction;
export type Feedback = api.PlanFeedback;
export type Fix = api.ActionFix;
export type Reason = api.ActionReason;
export type Run = api.WorkflowRun;
export type Source = api.Provenance;
export type Step = api.PlanStep;

type PlanStatus = api.AssistantPlan["status"];

/** One value that the assistant knows or needs. */
export type MemoryItem = Omit<api.InfoItem, "value"> & { value: Json };

export type PlanContent = Omit<api.PlanVersion, "plan" | "status"> & { plan: Json; status: PlanStatus };
type DefaultInfo = Omit<api.DefaultInfo, "value"> & { value: Json };
export type Plan = Omit<api.AssistantPlan, "plan" | "versions" | "status" | "defaults"> & PlanContent & { versions: PlanContent[]; defaults: DefaultInfo[] };

export type Memory = Pick<api.AssistantMemory, "runs" | "asks"> & { items: MemoryItem[]; plans: Plan[] };
export type Change = Omit<api.MemoryChange, "before" | "after"> & { before: Json; after: Json };

/** Milliseconds between checks for changes without an event, such as a value that becomes stale. */
const recheck = 10_000;

const path = (id: string) => `/v1/assistants/${encodeURIComponent(id)}`;
const keyOf = (id: string) => ["assistant", id] as const;
const isBackgroundRequestOf = (id: string) => (request: Request) => request.thread_id?.startsWith(`${id}~`) ?? false;

/** Stop checking if the server says that there is no such assistant for this person. */
const recheckUnlessMissing = (query: Query<Page<AssistantAction>>) => (isStatus(query.state.error, 404) ? false : recheck);

/** Return all actions with their reasons; undefined if the agent is not an assistant. */
export function useActions(id: string, agent: Agent) {
  const { language } = useStrings();
  const { data } = useQuery({
    queryKey: [...keyOf(id), "actions", language],
    queryFn: () => call<Page<AssistantAction>>("GET", `${path(id)}/actions?agent=${encodeURIComponent(agent.name)}`),
    enabled: acceptsEvents(agent),
    refetchInterval: recheckUnlessMissing,
    placeholderData: (before) => before,
  });
  return data?.items;
}

export function useContextMemory(id: string, agent: string, enabled: boolean) {
  const { language } = useStrings();
  return useQuery({
    queryKey: [...keyOf(id), "memory", language],
    queryFn: () => call<Memory>("GET", `${path(id)}/memory?agent=${encodeURIComponent(agent)}`),
    enabled, refetchInterval: recheck, placeholderData: (before) => before,
  });
}

/** Return the open approval requests of the plans in the memory. */
export function useApprovals(plans: Plan[]): Request[] {
  const ids = plans.flatMap(({ request }) => (request?.status === "pending" ? [request.id] : []));
  return useQueries({
    queries: ids.map(requestQuery),
    combine: (found) => found.flatMap(({ data }) => (data?.status === "pending" ? [data] : [])),
  });
}

/** Return the changes of a memory, newest first. */
export function useChanges(id: string) {
  const { language } = useStrings();
  return useInfiniteQuery({
    queryKey: [...keyOf(id), "history", language],
    queryFn: ({ pageParam }) => {
      const query = new URLSearchParams({ limit: "50", ...(pageParam && { cursor: pageParam }) });
      return call<Page<Change>>("GET", `${path(id)}/memory/history?${query.toString()}`);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
  });
}

/** Reload the memory when the conversation changes, and when one of its background requests changes. */
export function useRefreshMemory(id: string, stamp: string, enabled: boolean): void {
  const client = useQueryClient();
  const lastStamp = useRef<string>(undefined);
  useEffect(() => {
    if (!enabled || lastStamp.current === stamp) return;
    lastStamp.current = stamp;
    refreshSoon(client, keyOf(id), 50);
  }, [client, id, stamp, enabled]);
  useEffect(() => {
    if (!enabled) return undefined;
    const isBackgroundRequest = isBackgroundRequestOf(id);
    return client.getQueryCache().subscribe(({ type, query }) => {
      const { data } = query.state;
      if (type === "updated" && query.queryKey[0] === "request" && data && isBackgroundRequest(data as Request)) refreshSoon(client, keyOf(id), 200);
    });
  }, [client, id, enabled]);
}

/** Run a command: an action id, or a command such as `ask:<info>`. */
export function useRunCommand(id: string, agent: string, onStarted: () => void) {
  const client = useQueryClient();
  // A second click may come before the first one is rendered as pending.
  const isRunning = useRef(false);
  const { mutate, ...pressing } = useMutation({
    mutationFn: (command: string) => call<unknown>("POST", `${path(id)}/actions/${encodeURIComponent(command)}`, { agent }),
    onSuccess: onStarted,
    onSettled: () => {
      isRunning.current = false;
      for (const queryKey of [keyOf(id), ["thread", id]]) void client.invalidateQueries({ queryKey });
    },
  });
  const runCommand = useCallback((command: string) => {
    if (isRunning.current) return;
    isRunning.current = true;
    mutate(command);
  }, [mutate]);
  return { ...pressing, runCommand };
}

/** Dismiss an error when the conversation changes. */
export function useResetOnChange(stamp: string, isRefused: boolean, forget: () => void): void {
  const lastStamp = useRef(stamp);
  useEffect(() => {
    if (lastStamp.current === stamp) return;
    lastStamp.current = stamp;
    if (isRefused) forget();
  }, [stamp, isRefused, forget]);
}

/** Clear the context of a conversation. */
export function useClear(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<Memory>("DELETE", `${path(id)}/memory`),
    onSettled: () => {
      for (const queryKey of [keyOf(id), ["thread", id]]) void client.invalidateQueries({ queryKey });
    },
  });
}
