import { useState } from "react";
import { isStatus } from "../api/call";
import type { Agent } from "../api/types";
import { useAsk, useConversation } from "./api";
import type { Turn } from "./types";

export interface ConversationProps {
  id: string;
  agent: Agent;
  isNew: boolean;
  playbook: string | undefined;
  /** What that is typed belongs to: a conversation without an address has none of its own. */
  typedFor: string;
  onBegin: () => void;
}

/** A question that is on its way, or whose run has not said yet that it began. */
function asTurn(query: string, run: string, thread: string): Turn {
  return {
    runId: run, threadId: thread, query, response: null, references: [], bullets: [], at: "", phase: "answering", feedback: null, reflected: null,
    insights: [], suppressed: [], droppedQuotes: 0, usage: { answer: null, reflect: null }, parent: null, error: null,
  };
}

/** The conversation, with the question that was just asked in it. */
export function useConversationTurns({ id, agent, isNew, onBegin }: ConversationProps) {
  const [begun, setBegun] = useState(!isNew);
  const [startedAt, setStartedAt] = useState(Infinity);
  const ask = useAsk(id);
  const { data, dataUpdatedAt, error, refetch } = useConversation(id, begun);
  const { variables, isPending, data: started, isError } = ask;
  const told = data?.turns ?? [];
  const isTold = started !== undefined && told.some(({ runId }) => runId === started.run_id);
  // Stopped before it said that it began, it never will.
  const isOver = started !== undefined && data !== undefined && data.status !== "running" && dataUpdatedAt > startedAt + 1_000;
  const asked = variables && !isError && !isTold && !isOver ? [asTurn(variables.query, started?.run_id ?? "", started?.thread_id ?? id)] : [];
  const turns = [...told, ...asked];
  const send = (query: string, expected: string, onRefused: () => void) => {
    setStartedAt(Infinity);
    ask.mutate({ query, agent: agent.name, ...(expected && { expected }) }, {
      onSuccess: () => {
        setStartedAt(Date.now());
        setBegun(true);
        onBegin();
      },
      onError: onRefused,
    });
  };
  return {
    turns, send, isSending: isPending, refusal: ask.error, conversation: data, error, refetch, isMissing: !isNew && isStatus(error, 404),
    isLoading: begun && !data && !error && turns.length === 0,
  };
}
