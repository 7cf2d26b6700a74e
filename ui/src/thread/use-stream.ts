import { skipToken, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { listen } from "../api/listen";
import { threadPath } from "../api/threads";
import { reduce } from "./reduce";
import { emptyStream, type Numbered, type StreamEvent, type StreamState } from "./stream";

function take(client: QueryClient, id: string, batch: Numbered[]): void {
  client.setQueryData<StreamState>(["stream", id], (state) => reduce(state ?? emptyStream, batch));
  if (batch.some(({ event }) => event.type.startsWith("RUN_"))) {
    void client.invalidateQueries({ queryKey: ["thread", id] });
  }
}

interface Followed {
  stream: StreamState;
  /** The connection is gone, and tried again. */
  lost: boolean;
}

/** Follow a thread's numbered stream while `follows` it; what was seen once is kept, so that coming back goes on after it. */
export function useStream(id: string, follows: (stream: StreamState) => boolean = () => true): Followed {
  const client = useQueryClient();
  const [lost, setLost] = useState(false);
  const stream = useQuery<StreamState>({
    queryKey: ["stream", id],
    queryFn: skipToken,
    // Comparing ten thousand old events with themselves at every new one is most of the work.
    structuralSharing: false,
  }).data ?? emptyStream;
  const enabled = follows(stream);
  useEffect(() => {
    if (!enabled) return undefined;
    let batch: Numbered[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      take(client, id, batch);
      batch = [];
    };
    const last = () => client.getQueryData<StreamState>(["stream", id])?.last ?? 0;
    const stop = listen({
      url: () => `${threadPath(id)}/stream?after=${last()}`,
      names: ["message"],
      opened: () => {
        setLost(false);
        void client.invalidateQueries({ queryKey: ["thread", id] });
      },
      received: (message) => {
        batch.push({ number: Number(message.lastEventId), event: JSON.parse(message.data) as StreamEvent });
        timer ??= setTimeout(flush, 16);
      },
      lost: () => setLost(true),
    });
    return () => {
      stop();
      clearTimeout(timer);
      if (batch.length > 0) flush();
    };
  }, [client, id, enabled]);
  return { stream, lost };
}
