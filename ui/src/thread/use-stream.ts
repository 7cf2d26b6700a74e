import { skipToken, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { listen } from "../api/listen";
import { threadPath } from "../api/threads";
import { reduce } from "./reduce";
import { readStored } from "./stored-events";
import { emptyStream, type NumberedEvent, type StreamEvent, type StreamState } from "./stream";

function applyBatch(client: QueryClient, id: string, batch: NumberedEvent[]): void {
  client.setQueryData<StreamState>(["stream", id], (state) => reduce(state ?? emptyStream, batch));
  if (batch.some(({ event }) => event.type.startsWith("RUN_"))) {
    void client.invalidateQueries({ queryKey: ["thread", id] });
  }
}

export type Interruption = "held" | "lost" | null;

interface ThreadStream {
  stream: StreamState;
  /** "lost" while the connection is retried, "held" while the stream is silent and is read every few seconds. */
  interruption: Interruption;
}

/** Follow a thread's stream while `shouldFollow` returns true; events already received are kept. */
export function useStream(id: string, shouldFollow: (stream: StreamState) => boolean = () => true): ThreadStream {
  const client = useQueryClient();
  const [interruption, setInterruption] = useState<Interruption>(null);
  const stream = useQuery<StreamState>({
    queryKey: ["stream", id],
    queryFn: skipToken,
    // Without structural sharing: comparing thousands of old events at each new one is slow.
    structuralSharing: false,
  }).data ?? emptyStream;
  const enabled = shouldFollow(stream);
  useEffect(() => {
    if (!enabled) return undefined;
    let batch: NumberedEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      applyBatch(client, id, batch);
      batch = [];
    };
    const last = () => client.getQueryData<StreamState>(["stream", id])?.last ?? 0;
    const stop = listen({
      url: () => `${threadPath(id)}/stream?after=${last()}`,
      names: ["message"],
      onOpen: (isHeldBack) => {
        setInterruption(isHeldBack ? "held" : null);
        void client.invalidateQueries({ queryKey: ["thread", id] });
      },
      onEvent: (message) => {
        batch.push({ number: Number(message.lastEventId), event: JSON.parse(message.data) as StreamEvent });
        timer ??= setTimeout(flush, 16);
      },
      onHeldBack: () => {
        setInterruption("held");
        void client.invalidateQueries({ queryKey: ["thread", id] });
        readStored(id, last()).then((found) => applyBatch(client, id, found), () => setInterruption("lost"));
      },
      onPassing: () => setInterruption(null),
      onLost: () => setInterruption("lost"),
    });
    return () => {
      stop();
      clearTimeout(timer);
      if (batch.length > 0) flush();
    };
  }, [client, id, enabled]);
  return { stream, interruption };
}
