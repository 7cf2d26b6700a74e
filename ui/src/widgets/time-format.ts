import { useStrings } from "../strings";

const shortFormats = new Map<string, Intl.DateTimeFormat>();

const formats = new Map<string, Intl.DateTimeFormat>();

/** Return a cached format; creating one is slow. */
function format(language: string, withDay: boolean): Intl.DateTimeFormat {
  const key = `${language} ${withDay}`;
  const cached = formats.get(key);
  if (cached) return cached;
  const day: Intl.DateTimeFormatOptions = withDay ? { year: "numeric", month: "short", day: "numeric" } : {};
  const created = new Intl.DateTimeFormat(language, { ...day, hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  formats.set(key, created);
  return created;
}

export function timeOfDay(at: number, language: string): string {
  return format(language, false).format(at);
}

/** Format a time, with its date unless that is today. */
export function dayAndTime(at: number, language: string): string {
  return format(language, new Date(at).toDateString() !== new Date().toDateString()).format(at);
}

/** Format a time of today, or else a date. */
export function shortTime(at: string, language: string): string {
  const date = new Date(at);
  const now = new Date();
  const isToday = date.toDateString() === now.toDateString();
  const key = `${language} ${isToday} ${date.getFullYear() === now.getFullYear()}`;
  const cached = shortFormats.get(key);
  if (cached) return cached.format(date);
  const day: Intl.DateTimeFormatOptions = { month: "short", day: "numeric" };
  const options: Intl.DateTimeFormatOptions = isToday ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }
    : date.getFullYear() === now.getFullYear() ? day : { ...day, year: "numeric" };
  const created = new Intl.DateTimeFormat(language, options);
  shortFormats.set(key, created);
  return created.format(date);
}

/** Return a function that formats a duration in its two largest units. */
export function useDuration(): (milliseconds: number) => string {
  const { duration } = useStrings();
  return (milliseconds) => {
    const seconds = Math.max(0, milliseconds) / 1_000;
    if (seconds < 60) return duration.seconds(String(seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)));
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return duration.minutes(minutes, Math.floor(seconds % 60));
    const hours = Math.floor(minutes / 60);
    return hours < 48 ? duration.hours(hours, minutes % 60) : duration.days(Math.floor(hours / 24), hours % 24);
  };
}
