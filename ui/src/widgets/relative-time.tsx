import { useStrings } from "../strings";
import { useNow } from "./time";
import { absolute } from "./timestamp";

const units = [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;

function ago(seconds: number, language: string): string {
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const [unit, length] = units.find(([, least]) => seconds >= least) ?? ["second", seconds + 1];
  return relative.format(-Math.floor(seconds / length), unit);
}

/** The age of something, with the full date as its tooltip. */
export function RelativeTime({ at }: { at: string }) {
  const { language } = useStrings();
  const seconds = Math.max(0, (useNow() - Date.parse(at)) / 1_000);
  return <time dateTime={at} title={absolute(at, language)} data-testid="age">{ago(seconds, language)}</time>;
}
