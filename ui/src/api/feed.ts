import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
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
export function useFeed(): Connection {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(
    () =>
      listen({
        url: () => "/v1/events",
        names,
        opened: () => {
          setConnection("live");
          catchUp(client);
        },
        received: (event) => {
          const { request, gone } = JSON.parse(event.data) as FeedEvent;
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
