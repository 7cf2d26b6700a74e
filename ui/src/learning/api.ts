import { useInfiniteQuery, useMutation, useQuery, useQueryClient, type Query } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { call, isStatus } from "../api/call";
import { refreshSoon } from "../api/requests";
import type { PlaybookChange } from "../api/schema";
import type { Page, Request } from "../api/types";
import type { StreamState } from "../thread/stream";
import type { BulletHistory, Conversation, EngrammerRun, Entry, Note, Playbook, PlaybookDiff, PlaybookSummary, Reference } from "./types";

/** How long the page may be behind where nothing rings. */
const recheck = 2_000;
const slowly = 10_000;

const path = (id: string) => `/v1/engrammer/${encodeURIComponent(id)}`;
const playbookPath = (id: string) => `/v1/playbooks/${encodeURIComponent(id)}`;
const keyOf = (id: string) => ["engrammer", id] as const;

/** What is not there, or not for this person, does not come by asking again. */
const unlessGone = (query: Query<Conversation>) => (isStatus(query.state.error, 404) ? false : recheck);

/** A conversation as the server has it, with all its threads. */
export function useConversation(id: string, enabled: boolean) {
  return useQuery({
    queryKey: keyOf(id), queryFn: () => call<Conversation>("GET", path(id)), enabled, staleTime: 0, refetchInterval: unlessGone,
  });
}

/** Read a conversation again at once when its stream tells of a step, or the feed of one of its requests. */
export function useRefresh(id: string, stream: StreamState): void {
  const client = useQueryClient();
  const { items, phase, values } = stream;
  const seen = useRef<unknown>(values);
  // Not each word of an answer is a step.
  const stamp = `${phase} ${items.filter(({ kind }) => kind !== "message").length}`;
  const before = useRef(stamp);
  useEffect(() => {
    if (before.current === stamp && seen.current === values) return;
    before.current = stamp;
    seen.current = values;
    refreshSoon(client, keyOf(id), 50);
  }, [client, id, stamp, values]);
  useEffect(() => client.getQueryCache().subscribe(({ type, query }) => {
    if (type !== "updated" || query.queryKey[0] !== "request" || !query.state.data) return;
    const thread = (query.state.data as Request).thread_id;
    if (thread === id || thread?.startsWith(`${id}~`)) refreshSoon(client, keyOf(id), 200);
  }), [client, id]);
}

export interface Question {
  query: string;
  expected?: string;
  agent?: string;
}

function useSending<T>(id: string, send: (body: T) => Promise<EngrammerRun>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSettled: () => {
      for (const queryKey of [keyOf(id), ["threads"]]) void client.invalidateQueries({ queryKey });
    },
  });
}

/** Ask something, also while insights of an earlier question wait. */
export const useAsk = (id: string) => useSending(id, (question: Question) => call<EngrammerRun>("POST", `${path(id)}/questions`, question));

export interface Word {
  verdict: "right" | "wrong";
  text?: string;
  turn: string;
}

/** Say of an answer whether it was right. */
export const useFeedback = (id: string) => useSending(id, (word: Word) => call<EngrammerRun>("POST", `${path(id)}/feedback`, word));

/** A note as its source has it; one that is not there is not asked for again by itself. */
export function useNote({ source, noteId }: Reference) {
  return useQuery({
    queryKey: ["note", source, noteId], queryFn: () => call<Note>("POST", "/engrammerFlow_getNote", { source, noteId }), staleTime: 0,
  });
}

export function usePlaybooks() {
  return useQuery({
    queryKey: ["playbooks"], queryFn: () => call<Page<PlaybookSummary>>("GET", "/v1/playbooks"), staleTime: 0, refetchInterval: slowly,
  });
}

/** A playbook as it stands. */
export function usePlaybook(id: string) {
  return useQuery({
    queryKey: ["playbook", id, "head"], queryFn: () => call<Playbook>("GET", playbookPath(id)), staleTime: 0, refetchInterval: slowly,
  });
}

/** How a playbook came to be what it is, newest first. */
export function useEntries(id: string, head: number) {
  return useInfiniteQuery({
    queryKey: ["playbook", id, "history", head],
    queryFn: ({ pageParam }) => {
      const query = new URLSearchParams({ limit: "50", ...(pageParam && { cursor: pageParam }) });
      return call<Page<Entry>>("GET", `${playbookPath(id)}/history?${query.toString()}`);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    placeholderData: (before) => before,
  });
}

/** One line, and all that was done to it. */
export function useBullet(id: string, bullet: string) {
  return useQuery({
    queryKey: ["playbook", id, "bullet", bullet], staleTime: 0,
    queryFn: () => call<BulletHistory>("GET", `${playbookPath(id)}/bullets/${encodeURIComponent(bullet)}`),
  });
}

export function useDiff(id: string, from: number, to: number) {
  return useQuery({
    queryKey: ["playbook", id, "diff", from, to],
    queryFn: () => call<PlaybookDiff>("GET", `${playbookPath(id)}/diff?from=${from}&to=${to}`),
    placeholderData: (before) => before,
  });
}

function useOnPlaybook<T>(id: string, send: (body: T) => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSettled: () => {
      for (const queryKey of [["playbook", id], ["playbooks"]]) void client.invalidateQueries({ queryKey });
    },
  });
}

/** Change a playbook as a person. */
export const useChange = (id: string) => useOnPlaybook(id, (change: PlaybookChange) => call<Entry>("POST", `${playbookPath(id)}/changes`, change));

/** Have duplicates looked for. */
export const useTidy = (id: string) => useOnPlaybook(id, () => call("POST", `${playbookPath(id)}/tidy`, {}));
