import { base } from "../widgets/base";
import { takeTurn } from "./turn";

export interface Listener {
  url: () => string;
  names: readonly string[];
  opened: () => void;
  received: (event: MessageEvent<string>) => void;
  lost: (refused: boolean) => void;
  /** Stay open in a hidden tab, in one of all that have this name. */
  background?: string;
}

const slowest = 15_000;

/**
 * Keep one event stream open while the page is visible; return how to stop.
 *
 * A browser opens six HTTP/1.1 connections to one origin: hidden tabs that kept theirs would starve the visible one.
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
    const current = new EventSource(base + listener.url());
    source = current;
    current.addEventListener("open", () => {
      pause = 500;
      listener.opened();
    });
    current.addEventListener("error", () => {
      const refused = current.readyState === EventSource.CLOSED;
      listener.lost(refused);
      // The browser tries again by itself after a lost connection, but never after a refusal (a proxy's 502, a 401).
      if (!refused || source !== current) return;
      pause = Math.min(pause * 2, slowest);
      // Pages that were refused together would come again together.
      timer = setTimeout(connect, pause * (0.5 + Math.random() / 2));
    });
    for (const name of listener.names) current.addEventListener(name, listener.received);
  };
  const { background } = listener;
  let letGo: (() => void) | undefined;
  const follow = () => {
    letGo?.();
    letGo = undefined;
    if (!document.hidden) return source?.readyState === EventSource.OPEN ? undefined : connect();
    // The browser knows turns only where it trusts the address: https, or this machine.
    if (!background || !("locks" in navigator)) return close();
    letGo = takeTurn(background, { begun: connect, waits: close });
  };

  follow();
  document.addEventListener("visibilitychange", follow);
  return () => {
    document.removeEventListener("visibilitychange", follow);
    letGo?.();
    close();
  };
}
