import { basePath } from "../widgets/base-path";
import { acquireTabLock } from "./tab-lock";

interface Listener {
  url: () => string;
  names: readonly string[];
  onOpen: () => void;
  onEvent: (event: MessageEvent<string>) => void;
  onLost: (refused: boolean) => void;
  /** Stay open in a hidden tab, but in only one of all tabs that share this name. */
  background?: string;
  /** Called when this tab goes on for another one. */
  onTakeOver?: () => void;
}

const maxPause = 15_000;

/**
 * Keep one event stream open while the page is visible; return a function that stops it.
 *
 * A browser opens six HTTP/1.1 connections per origin, so hidden tabs would starve the visible one.
 */
export function listen(listener: Listener): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = 500;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const connect = () => {
    close();
    const current = new EventSource(basePath + listener.url());
    source = current;
    current.addEventListener("open", () => {
      pause = 500;
      listener.onOpen();
    });
    current.addEventListener("error", () => {
      const refused = current.readyState === EventSource.CLOSED;
      listener.onLost(refused);
      // The browser reconnects after a lost connection, but never after a refusal (a proxy's 502, a 401).
      if (!refused || source !== current) return;
      pause = Math.min(pause * 2, maxPause);
      // Jitter, so that pages that were refused together do not reconnect together.
      timer = setTimeout(connect, pause * (0.5 + Math.random() / 2));
    });
    for (const name of listener.names) current.addEventListener(name, listener.onEvent);
  };
  const { background } = listener;
  let releaseLock: (() => void) | undefined;
  const follow = () => {
    releaseLock?.();
    releaseLock = undefined;
    if (!document.hidden) return source?.readyState === EventSource.OPEN ? undefined : connect();
    // The browser offers locks only on https or this machine.
    if (!background || !("locks" in navigator)) return close();
    releaseLock = acquireTabLock(background, {
      onAcquired: () => {
        listener.onTakeOver?.();
        connect();
      },
      onWaiting: close,
    });
  };

  follow();
  document.addEventListener("visibilitychange", follow);
  return () => {
    document.removeEventListener("visibilitychange", follow);
    releaseLock?.();
    close();
  };
}
