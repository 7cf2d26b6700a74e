import { useRequestStrings } from "../strings/use-request-strings";
import { clock, useNow } from "../widgets/time";

function absolute(at: string, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" }).format(new Date(at));
}

/** A short time with the full date as its tooltip. */
export function Timestamp({ at }: { at: string }) {
  const { language } = useRequestStrings();
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
  const { language } = useRequestStrings();
  const seconds = Math.max(0, (useNow() - Date.parse(at)) / 1_000);
  return <time dateTime={at} title={absolute(at, language)} data-testid="age">{ago(seconds, language)}</time>;
}
