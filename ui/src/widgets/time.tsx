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

/** Return a time of today with its seconds. */
export function clockWithSeconds(at: string, language: string): string {
  return new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }).format(new Date(at));
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

function absolute(at: string, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" }).format(new Date(at));
}

/** A short time with the full date as its tooltip. */
export function Timestamp({ at }: { at: string }) {
  const { language } = useStrings();
  return <time dateTime={at} title={absolute(at, language)}>{clock(at, language)}</time>;
}

const units = [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;

function ago(seconds: number, language: string): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const [unit, length] = units.find(([, least]) => seconds >= least) ?? ["second", seconds + 1];
  return format.format(-Math.floor(seconds / length), unit);
}

/** The age of something, with the full date as its tooltip. */
export function RelativeTime({ at }: { at: string }) {
  const { language } = useStrings();
  const seconds = Math.max(0, (useNow() - Date.parse(at)) / 1_000);
  return <time dateTime={at} title={absolute(at, language)} data-testid="age">{ago(seconds, language)}</time>;
}
