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
  /** The key of the unsent question; a conversation without a URL has none of its own. */
  draftKey: string;
  onBegin: () => void;
}

/** Build the turn of a question that was sent but is not in the conversation yet. */
function localTurn(query: string, run: string, thread: string): Turn {
  return {
    runId: run, threadId: thread, query, response: null, references: [], bullets: [], at: "", phase: "answering", feedback: null, reflected: null,
    insights: [], suppressed: [], droppedQuotes: 0, unsupportedInsights: 0, usage: { answer: null, reflect: null }, parent: null, error: null,
  };
}

/** Return the turns of the conversation, including a question that was just sent. */
export function useConversationTurns({ id, agent, isNew, onBegin }: ConversationProps) {
  const [isStarted, setStarted] = useState(!isNew);
  const [startedAt, setStartedAt] = useState(Infinity);
  const ask = useAsk(id);
  const { data, dataUpdatedAt, error, refetch } = useConversation(id, isStarted);
  const { variables, isPending, data: started, isError } = ask;
  const serverTurns = data?.turns ?? [];
  const isOnServer = started !== undefined && serverTurns.some(({ runId }) => runId === started.run_id);
  // A run that stopped before it reported its start never appears in the conversation.
  const isOver = started !== undefined && data !== undefined && data.status !== "running" && dataUpdatedAt > startedAt + 1_000;
  const localTurns = variables && !isError && !isOnServer && !isOver ? [localTurn(variables.query, started?.run_id ?? "", started?.thread_id ?? id)] : [];
  const turns = [...serverTurns, ...localTurns];
  const send = (query: string, expected: string, onRefused: () => void) => {
    setStartedAt(Infinity);
    ask.mutate({ query, agent: agent.name, ...(expected && { expected }) }, {
      onSuccess: () => {
        setStartedAt(Date.now());
        setStarted(true);
        onBegin();
      },
      onError: onRefused,
    });
  };
  return {
    turns, send, isSending: isPending, refusal: ask.error, conversation: data, error, refetch, isMissing: !isNew && isStatus(error, 404),
    isLoading: isStarted && !data && !error && turns.length === 0,
  };
}
