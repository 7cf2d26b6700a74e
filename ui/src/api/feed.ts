import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { listen } from "./listen";
import { drop, keep, keepUp } from "./requests";
import { feedEvents } from "./schema";
import type { FeedEvent } from "./types";

export type Connection = "connecting" | "live" | "lost";

/** Ask again for what may have changed unheard; a feed that goes on where it was cut off has told the rest itself. */
function catchUp(client: QueryClient, resumed: boolean): void {
  const unheard = ["counts", "thread", "threads"];
  for (const key of resumed ? unheard : ["request", "requests", ...unheard]) {
    void client.invalidateQueries({ queryKey: [key] });
  }
  void client.refetchQueries({ type: "active", predicate: (query) => query.state.status === "error" });
}

/** Keep the cached requests equal to the server's while mounted; say whether the feed is open. */
export function useFeed(onEvent: (told: FeedEvent) => void): Connection {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");
  const heard = useRef(onEvent);
  useEffect(() => {
    heard.current = onEvent;
  });
  useEffect(() => keepUp(client), [client]);
  useEffect(() => {
    let last = "";
    return listen({
      url: () => {
        // A hidden tab that takes over from another must not tell as news what that one has told.
        if (document.hidden) last = "";
        return last ? `/v1/events?after=${encodeURIComponent(last)}` : "/v1/events";
      },
      background: "ringi.feed",
      names: feedEvents,
      opened: () => {
        setConnection("live");
        catchUp(client, last !== "");
      },
      received: (event) => {
        last = event.lastEventId;
        const told = JSON.parse(event.data) as FeedEvent;
        const { request, gone } = told;
        heard.current(told);
        if (request) keep(client, request);
        if (gone) drop(client, gone);
      },
      lost: (refused) => {
        setConnection("lost");
        if (!refused) return;
        // The place may be one that this server does not know (any more): begin anew.
        last = "";
        void client.invalidateQueries({ queryKey: ["session"] });
      },
    });
  }, [client]);
  return connection;
}
