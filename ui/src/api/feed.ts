import { skipToken, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { basePath } from "../base/router";
import { serverNow } from "./call";
import { dropRequest, cacheRequest, reapplyFeedUpdates } from "./requests";
import type { FeedEventName, TenantEventName } from "./schema";
import type { FeedEvent } from "./types";

/** The events of the feed. A name that is missing, or that the server does not have, is a type error. */
export const feedEvents = Object.keys({
  "request.created": true,
  "request.claimed": true,
  "request.released": true,
  "request.reassigned": true,
  "request.escalated": true,
  "request.voted": true,
  "request.held": true,
  "request.unheld": true,
  "request.withdrawn": true,
  "request.completed": true,
  "request.expired": true,
  "request.cancelled": true,
  "request.attention": true,
  "request.retried": true,
  "request.erased": true,
} satisfies Record<FeedEventName, true>);

const tenantEvents = Object.keys({ "pauses.changed": true } satisfies Record<TenantEventName, true>);

/** A lock that one tab of this browser holds at a time. */
interface TabLock {
  /** Called when the lock was acquired from another tab. */
  onAcquired: () => void;
  /** Called when another tab holds the lock. */
  onWaiting: () => void;
}

/** Acquire the lock, at once or when the other tab releases it; return the function that releases it. */
function acquireTabLock(name: string, { onAcquired, onWaiting }: TabLock): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const untilReleased = () => new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve());
    if (signal.aborted) resolve();
  });
  const queue = () => navigator.locks.request(name, { signal }, () => {
    onAcquired();
    return untilReleased();
  });
  void navigator.locks.request(name, { ifAvailable: true }, (lock) => {
    if (lock) return untilReleased();
    if (signal.aborted) return undefined;
    onWaiting();
    // Releasing while waiting ends the request with an expected error.
    void queue().catch(() => undefined);
    return undefined;
  });
  return () => controller.abort();
}

interface Listener {
  url: () => string;
  names: readonly string[];
  /** Called when the server replied; a stream that was held back passes only when something is heard. */
  onOpen: (isHeldBack: boolean) => void;
  onEvent: (event: MessageEvent<string>) => void;
  onLost: (refused: boolean) => void;
  onHeartbeat?: (event: MessageEvent<string>) => void;
  /** Called every few seconds from the silence of an open stream until something is heard: it is held back, or the connection is dead. */
  onHeldBack: () => void;
  /** Called when a stream that was held back passes again. */
  onPassing: () => void;
  /** Stay open in a hidden tab, but in only one of all tabs that share this name. */
  background?: string;
  /** Called when this tab goes on for another one. */
  onTakeOver?: () => void;
}

const maxPause = 15_000;
/** Milliseconds of two heartbeats of the server. */
const maxSilence = 30_000;
const pollInterval = 5_000;

/**
 * Keep one event stream open while the page is visible; return a function that stops it.
 *
 * A browser opens six HTTP/1.1 connections per origin, so hidden tabs would starve the visible one.
 */
export function listen(listener: Listener): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = 500;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let polling: ReturnType<typeof setInterval> | undefined;
  let isLost = false;

  const stopPolling = () => {
    clearInterval(polling);
    polling = undefined;
  };
  const close = () => {
    clearTimeout(timer);
    clearTimeout(silence);
    source?.close();
    source = undefined;
  };
  const closeAll = () => {
    close();
    stopPolling();
  };
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(onSilence, maxSilence);
    if (!polling) return;
    stopPolling();
    listener.onPassing();
  };
  const onSilence = () => {
    if (!isLost && !polling) {
      listener.onHeldBack();
      polling = setInterval(listener.onHeldBack, pollInterval);
    }
    connect();
  };
  const connect = () => {
    close();
    const current = new EventSource(basePath + listener.url());
    source = current;
    silence = setTimeout(onSilence, maxSilence);
    current.addEventListener("open", () => {
      pause = 500;
      isLost = false;
      listener.onOpen(polling !== undefined);
    });
    current.addEventListener("error", () => {
      const refused = current.readyState === EventSource.CLOSED;
      isLost = true;
      listener.onLost(refused);
      // The browser reconnects after a lost connection, but never after a refusal (a proxy's 502, a 401).
      if (!refused || source !== current) return;
      pause = Math.min(pause * 2, maxPause);
      // Jitter, so that pages that were refused together do not reconnect together.
      timer = setTimeout(connect, pause * (0.5 + Math.random() / 2));
    });
    for (const name of listener.names) current.addEventListener(name, listener.onEvent);
    current.addEventListener("heartbeat", (event: MessageEvent<string>) => listener.onHeartbeat?.(event));
    for (const name of [...listener.names, "heartbeat"]) current.addEventListener(name, heard);
  };
  const { background } = listener;
  let releaseLock: (() => void) | undefined;
  const follow = () => {
    releaseLock?.();
    releaseLock = undefined;
    if (!document.hidden) return source?.readyState === EventSource.OPEN ? undefined : connect();
    // The browser offers locks only on https or this machine.
    if (!background || !("locks" in navigator)) return closeAll();
    releaseLock = acquireTabLock(background, {
      onAcquired: () => {
        listener.onTakeOver?.();
        connect();
      },
      onWaiting: closeAll,
    });
  };

  follow();
  document.addEventListener("visibilitychange", follow);
  return () => {
    document.removeEventListener("visibilitychange", follow);
    releaseLock?.();
    closeAll();
  };
}

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
