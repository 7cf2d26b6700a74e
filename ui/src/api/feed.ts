import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { listen } from "./listen";
import { drop, keep } from "./requests";
import type { FeedEvent } from "./types";

export type Connection = "connecting" | "live" | "lost";

const names = [
  "created", "claimed", "released", "reassigned", "completed", "expired", "cancelled", "attention",
].map((what) => `request.${what}`);

function catchUp(client: QueryClient): void {
  for (const key of ["requests", "request", "thread", "threads"]) {
    void client.invalidateQueries({ queryKey: [key] });
  }
}

/** Keep the cached requests equal to the server's while mounted; say whether the feed is open. */
export function useFeed(onEvent: (told: FeedEvent) => void): Connection {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");
  const heard = useRef(onEvent);
  useEffect(() => {
    heard.current = onEvent;
  });
  useEffect(
    () =>
      listen({
        url: () => "/v1/events",
        background: "ringi.feed",
        names,
        opened: () => {
          setConnection("live");
          catchUp(client);
        },
        received: (event) => {
          const told = JSON.parse(event.data) as FeedEvent;
          const { request, gone } = told;
          heard.current(told);
          if (request) keep(client, request);
          if (gone) drop(client, gone);
        },
        lost: (refused) => {
          setConnection("lost");
          if (refused) void client.invalidateQueries({ queryKey: ["session"] });
        },
      }),
    [client],
  );
  return connection;
}
