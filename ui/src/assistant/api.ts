import { useInfiniteQuery, useMutation, useQueries, useQuery, useQueryClient, type Query } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { call, isStatus } from "../api/call";
import { refreshSoon, requestQuery } from "../api/requests";
import type { Agent, Page, Request } from "../api/types";
import { isObject } from "../request/schema-field";
import { useStrings } from "../strings";
import type { AssistantAction, Change, Memory, Plan } from "./types";

/** How long the page may be behind where nothing rings: time passes, and a value is fresh no longer. */
const recheck = 10_000;

const path = (id: string) => `/v1/assistants/${encodeURIComponent(id)}`;
const keyOf = (id: string) => ["assistant", id] as const;
const sideOf = (id: string) => (request: Request) => request.thread_id?.startsWith(`${id}~`) ?? false;

/** What is not there, or not for this person, does not come by asking again. */
const unlessGone = (query: Query<Page<AssistantAction>>) => (isStatus(query.state.error, 404) ? false : recheck);

/** Whether an agent may be an assistant: it takes events beside messages. The route has the last word. */
const takesEvents = ({ input_schema: { properties } }: Agent) => isObject(properties) && "event" in properties;

/** What can be done now, and why the rest cannot; nothing of an agent that is no assistant. */
export function useActions(id: string, agent: Agent) {
  const { language } = useStrings();
  const { data } = useQuery({
    queryKey: [...keyOf(id), "actions", language],
    queryFn: () => call<Page<AssistantAction>>("GET", `${path(id)}/actions?agent=${encodeURIComponent(agent.name)}`),
    enabled: takesEvents(agent),
    refetchInterval: unlessGone,
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

/** The open requests to carry out plans: those that the memory names, and no others. */
export function useApprovals(plans: Plan[]): Request[] {
  const ids = plans.flatMap(({ request }) => (request?.status === "pending" ? [request.id] : []));
  return useQueries({
    queries: ids.map(requestQuery),
    combine: (found) => found.flatMap(({ data }) => (data?.status === "pending" ? [data] : [])),
  });
}

/** How a memory came to be what it is, newest first. */
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

/** Read all of a conversation's memory again when it moves, and when the feed tells of a request beside it. */
export function useRefresh(id: string, stamp: string, enabled: boolean): void {
  const client = useQueryClient();
  const seen = useRef<string>(undefined);
  useEffect(() => {
    if (!enabled || seen.current === stamp) return;
    seen.current = stamp;
    refreshSoon(client, keyOf(id), 50);
  }, [client, id, stamp, enabled]);
  useEffect(() => {
    if (!enabled) return undefined;
    const isBeside = sideOf(id);
    return client.getQueryCache().subscribe(({ type, query }) => {
      const { data } = query.state;
      if (type === "updated" && query.queryKey[0] === "request" && data && isBeside(data as Request)) refreshSoon(client, keyOf(id), 200);
    });
  }, [client, id, enabled]);
}

/** Do something by its name: an action, or another way on such as `ask:<info>`. */
export function usePress(id: string, agent: string, onPressed: () => void) {
  const client = useQueryClient();
  // What is under way is not drawn at once: two clicks may come before the first one is seen.
  const going = useRef(false);
  const { mutate, ...pressing } = useMutation({
    mutationFn: (verb: string) => call<unknown>("POST", `${path(id)}/actions/${encodeURIComponent(verb)}`, { agent }),
    onSuccess: onPressed,
    onSettled: () => {
      going.current = false;
      for (const queryKey of [keyOf(id), ["thread", id]]) void client.invalidateQueries({ queryKey });
    },
  });
  const press = useCallback((verb: string) => {
    if (going.current) return;
    going.current = true;
    mutate(verb);
  }, [mutate]);
  return { ...pressing, press };
}

/** A refusal tells of a moment: it goes when the conversation moves on. */
export function useForget(stamp: string, isRefused: boolean, forget: () => void): void {
  const seen = useRef(stamp);
  useEffect(() => {
    if (seen.current === stamp) return;
    seen.current = stamp;
    if (isRefused) forget();
  }, [stamp, isRefused, forget]);
}

/** Clear what was gathered in a conversation. */
export function useClear(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<Memory>("DELETE", `${path(id)}/memory`),
    onSettled: () => {
      for (const queryKey of [keyOf(id), ["thread", id]]) void client.invalidateQueries({ queryKey });
    },
  });
}
