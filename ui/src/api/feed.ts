import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { listen } from "./listen";
import { dropRequest, cacheRequest, reapplyFeedUpdates } from "./requests";
import { feedEvents } from "./schema";
import type { FeedEvent } from "./types";

export type Connection = "connecting" | "live" | "lost";

/** Ask again for what may have changed unheard; a feed that goes on where it was cut off has told the rest itself. */
function refetchAfterGap(client: QueryClient, resumed: boolean): void {
  const keysWithoutEvents = ["counts", "thread", "threads"];
  for (const key of resumed ? keysWithoutEvents : ["request", "requests", ...keysWithoutEvents]) {
    void client.invalidateQueries({ queryKey: [key] });
  }
  void client.refetchQueries({ type: "active", predicate: (query) => query.state.status === "error" });
}

/** Keep the cached requests equal to the server's while mounted; say whether the feed is open. */
export function useFeed(onEvent: (event: FeedEvent) => void): Connection {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");
  const latestOnEvent = useRef(onEvent);
  useEffect(() => {
    latestOnEvent.current = onEvent;
  });
  useEffect(() => reapplyFeedUpdates(client), [client]);
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
      onOpen: () => {
        setConnection("live");
        refetchAfterGap(client, last !== "");
      },
      onEvent: (event) => {
        last = event.lastEventId;
        const feedEvent = JSON.parse(event.data) as FeedEvent;
        const { request, gone } = feedEvent;
        latestOnEvent.current(feedEvent);
        if (request) cacheRequest(client, request);
        if (gone) dropRequest(client, gone);
      },
      onLost: (refused) => {
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
