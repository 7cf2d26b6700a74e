import { basePath } from "../base/base-path";
import { acquireTabLock } from "./tab-lock";

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
