import { useStrings } from "../strings";
import { clock } from "./time";

export function absolute(at: string, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" }).format(new Date(at));
}

/** A short time with the full date as its tooltip. */
export function Timestamp({ at }: { at: string }) {
  const { language } = useStrings();
  return <time dateTime={at} title={absolute(at, language)}>{clock(at, language)}</time>;
}
