import { useInfiniteQuery, useMutation, useQuery, useQueryClient, type Query } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { call, isStatus } from "../../api/call";
import { refreshSoon } from "../../api/requests";
import type {
  AnswerFeedback, BulletHistory, EngrammerConversation, EngrammerNote, EngrammerRun, EngrammerTurn, Evidence, InsightView,
  PlaybookBullet, PlaybookChange, PlaybookDiffView, PlaybookEntry, PlaybookSummary, PlaybookView, Reference,
  ReflectionSummary, SimilarBullet,
} from "../../api/schema";
import type { Page, Request } from "../../api/types";
import type { StreamState } from "../../thread/stream";

export type { BulletHistory, EngrammerRun, Evidence, PlaybookSummary, Reference, ReflectionSummary, SimilarBullet };
export type Insight = InsightView;
export type Playbook = PlaybookView;
type PlaybookDiff = PlaybookDiffView;
export type Bullet = PlaybookBullet;
export type Conversation = EngrammerConversation;
export type Entry = PlaybookEntry;
export type Feedback = AnswerFeedback;
type Note = EngrammerNote;
export type Turn = EngrammerTurn;

/** Polling intervals in milliseconds, for changes without an event. */
const recheck = 2_000;
const slowRecheck = 10_000;

const path = (id: string) => `/v1/engrammer/${encodeURIComponent(id)}`;
const playbookPath = (id: string) => `/v1/playbooks/${encodeURIComponent(id)}`;
const keyOf = (id: string) => ["engrammer", id] as const;

/** Stop polling if the conversation does not exist or this person cannot see it. */
const recheckUnlessMissing = (query: Query<Conversation>) => (isStatus(query.state.error, 404) ? false : recheck);

/** The conversation from the server, with all its threads. */
export function useConversation(id: string, enabled: boolean) {
  return useQuery({
    queryKey: keyOf(id), queryFn: () => call<Conversation>("GET", path(id)), enabled, staleTime: 0, refetchInterval: recheckUnlessMissing,
  });
}

/** Refetch a conversation when its stream reports a step or the feed reports one of its requests. */
export function useRefreshConversation(id: string, stream: StreamState): void {
  const client = useQueryClient();
  const { items, phase, values } = stream;
  const lastValues = useRef<unknown>(values);
  // Text that is added to a message is not a step.
  const stamp = `${phase} ${items.filter(({ kind }) => kind !== "message").length}`;
  const before = useRef(stamp);
  useEffect(() => {
    if (before.current === stamp && lastValues.current === values) return;
    before.current = stamp;
    lastValues.current = values;
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

function useRunMutation<T>(id: string, send: (body: T) => Promise<EngrammerRun>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSettled: () => {
      for (const queryKey of [keyOf(id), ["threads"]]) void client.invalidateQueries({ queryKey });
    },
  });
}

/** Ask a question, even while insights of an earlier question are pending. */
export const useAsk = (id: string) => useRunMutation(id, (question: Question) => call<EngrammerRun>("POST", `${path(id)}/questions`, question));

export interface NewFeedback {
  verdict: "right" | "wrong";
  text?: string;
  turn: string;
}

/** Send feedback on an answer. */
export const useFeedback = (id: string) => useRunMutation(id, (feedback: NewFeedback) => call<EngrammerRun>("POST", `${path(id)}/feedback`, feedback));

/** The current version of a note from its source. */
export function useNote({ source, noteId }: Reference) {
  return useQuery({
    queryKey: ["note", source, noteId], queryFn: () => call<Note>("POST", "/engrammerFlow_getNote", { source, noteId }), staleTime: 0,
  });
}

export function usePlaybooks() {
  return useQuery({
    queryKey: ["playbooks"], queryFn: () => call<Page<PlaybookSummary>>("GET", "/v1/playbooks"), staleTime: 0, refetchInterval: slowRecheck,
  });
}

/** The current version of a playbook. */
export function usePlaybook(id: string) {
  return useQuery({
    queryKey: ["playbook", id, "head"], queryFn: () => call<Playbook>("GET", playbookPath(id)), staleTime: 0, refetchInterval: slowRecheck,
  });
}

/** The history of a playbook, newest first. */
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

/** One bullet and its history. */
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

function usePlaybookMutation<T>(id: string, send: (body: T) => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSettled: () => {
      for (const queryKey of [["playbook", id], ["playbooks"]]) void client.invalidateQueries({ queryKey });
    },
  });
}

/** Change a playbook as a person. */
export const useChange = (id: string) => usePlaybookMutation(id, (change: PlaybookChange) => call<Entry>("POST", `${playbookPath(id)}/changes`, change));

/** Start a search for duplicate bullets. */
export const useFindDuplicates = (id: string) => usePlaybookMutation(id, () => call("POST", `${playbookPath(id)}/tidy`, {}));
