import { useSyncExternalStore } from "react";

let now = Date.now();
const watchers = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  now = Date.now();
  for (const watcher of watchers) watcher();
}

function subscribe(changed: () => void): () => void {
  watchers.add(changed);
  if (watchers.size === 1) {
    tick();
    ticking = setInterval(tick, 1_000);
  }
  return () => {
    watchers.delete(changed);
    if (watchers.size === 0) clearInterval(ticking);
  };
}

/** Return the current time from one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

export function clock(at: string, language: string): string {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  const day: Intl.DateTimeFormatOptions = today ? {} : { year: "numeric", month: "short", day: "numeric" };
  return new Intl.DateTimeFormat(language, { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(date);
}

/** Return a time of today with its seconds. */
export function clockWithSeconds(at: string, language: string): string {
  return new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }).format(new Date(at));
}
