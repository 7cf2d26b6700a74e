import { skipToken, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { listen } from "./listen";
import { dropRequest, cacheRequest, reapplyFeedUpdates } from "./requests";
import { serverNow } from "./server-clock";
import { feedEvents, tenantEvents } from "./schema";
import type { FeedEvent } from "./types";

/** Milliseconds in which one tab takes the feed over from another. */
const handOver = 2_000;

/** The state of the feed; "held" if it is open and silent, so that the page is read again every few seconds. */
type Connection = "connecting" | "live" | "held" | "lost";

const connectionKey = ["connection"];

/** The state of the feed, for what else streams from the same server. */
export const useConnection = () => useQuery<Connection>({ queryKey: connectionKey, queryFn: skipToken }).data ?? "connecting";

/** Refetch what may have changed without an event; a resumed feed has delivered all requests. */
function refetchAfterGap(client: QueryClient, resumed: boolean): void {
  const keysWithoutEvents = ["counts", "asked", "thread", "threads", "away", "pauses"];
  for (const key of resumed ? keysWithoutEvents : ["request", "requests", ...keysWithoutEvents]) {
    void client.invalidateQueries({ queryKey: [key] });
  }
  void client.refetchQueries({ type: "active", predicate: (query) => query.state.status === "error" });
}

/** Keep the cached requests equal to the server's while mounted; return the state of the connection. */
export function useFeed(onEvent: (event: FeedEvent) => void): Connection {
  const client = useQueryClient();
  const connection = useConnection();
  const latestOnEvent = useRef(onEvent);
  useEffect(() => {
    latestOnEvent.current = onEvent;
  });
  useEffect(() => reapplyFeedUpdates(client), [client]);
  useEffect(() => {
    const setConnection = (next: Connection) => void client.setQueryData(connectionKey, next);
    let last = "";
    let notifiedUntil = Number.NEGATIVE_INFINITY;
    return listen({
      url: () => (last ? `/v1/events?after=${encodeURIComponent(last)}` : "/v1/events"),
      background: "ringi.feed",
      // The tab that had the feed has notified about what came before.
      onTakeOver: () => { notifiedUntil = serverNow() - handOver; },
      names: [...feedEvents, ...tenantEvents],
      onOpen: (isHeldBack) => {
        setConnection(isHeldBack ? "held" : "live");
        refetchAfterGap(client, last !== "");
      },
      onEvent: (event) => {
        last = event.lastEventId;
        const feedEvent = JSON.parse(event.data) as FeedEvent;
        const { request, gone } = feedEvent;
        if (!(Date.parse(feedEvent.at) < notifiedUntil)) latestOnEvent.current(feedEvent);
        if (request) cacheRequest(client, request);
        if (gone) dropRequest(client, gone);
        if (feedEvent.type === "pauses.changed") void client.invalidateQueries({ queryKey: ["pauses"] });
      },
      onHeartbeat: ({ lastEventId }) => { last = lastEventId || last; },
      onHeldBack: () => {
        if (client.getQueryData(connectionKey) !== "lost") setConnection("held");
        refetchAfterGap(client, false);
      },
      onPassing: () => {
        setConnection("live");
        refetchAfterGap(client, false);
      },
      onLost: (refused) => {
        setConnection("lost");
        if (!refused) return;
        // The server may not know this position (any more), so start again.
        last = "";
        void client.invalidateQueries({ queryKey: ["session"] });
      },
    });
  }, [client]);
  return connection;
}
