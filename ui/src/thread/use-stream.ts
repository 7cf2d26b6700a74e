import { skipToken, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { listen } from "../api/listen";
import { threadPath } from "../api/threads";
import { emptyStream, reduce, type Numbered, type StreamEvent, type StreamState } from "./reduce";

function take(client: QueryClient, id: string, batch: Numbered[]): void {
  client.setQueryData<StreamState>(["stream", id], (state) => reduce(state ?? emptyStream, batch));
  if (batch.some(({ event }) => event.type.startsWith("RUN_"))) {
    void client.invalidateQueries({ queryKey: ["thread", id] });
  }
}

/** Follow a thread's numbered stream; what was seen once is kept, so that coming back goes on after it. */
export function useStream(id: string): StreamState {
  const client = useQueryClient();
  useEffect(() => {
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
      opened: () => void client.invalidateQueries({ queryKey: ["thread", id] }),
      received: (message) => {
        batch.push({ number: Number(message.lastEventId), event: JSON.parse(message.data) as StreamEvent });
        timer ??= setTimeout(flush, 16);
      },
      lost: () => undefined,
    });
    return () => {
      stop();
      clearTimeout(timer);
      if (batch.length > 0) flush();
    };
  }, [client, id]);
  return useQuery<StreamState>({ queryKey: ["stream", id], queryFn: skipToken }).data ?? emptyStream;
}
