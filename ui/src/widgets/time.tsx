import { Tag } from "antd";
import { useSyncExternalStore } from "react";
import { useStrings } from "../strings";

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

function remaining(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}:${two(minutes % 60)}:${two(seconds % 60)}` : `${Math.floor(hours / 24)} d`;
}

export function clock(at: string, language: string): string {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  const day: Intl.DateTimeFormatOptions = today ? {} : { year: "numeric", month: "short", day: "numeric" };
  return new Intl.DateTimeFormat(language, { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(date);
}

export function Clock({ at }: { at: string }) {
  const { language } = useStrings();
  return <time dateTime={at} title={at}>{clock(at, language)}</time>;
}

interface CountdownProps {
  until: string;
  kind: "due" | "expires";
}

export function Countdown({ until, kind }: CountdownProps) {
  const strings = useStrings();
  const seconds = Math.floor((new Date(until).getTime() - useNow()) / 1_000);
  if (seconds < 0) return <Tag color="warning">{kind === "due" ? strings.overdue : strings.deadlinePassed}</Tag>;
  return (
    <time className="countdown" dateTime={until} title={until}>
      {kind === "due" ? strings.dueIn(remaining(seconds)) : strings.expiresIn(remaining(seconds))}
    </time>
  );
}
