import { useStrings } from "../strings";
import { useNow } from "../widgets/time";

const units = [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;

/** Return an age in its coarsest unit; null below a minute. */
function ageOf(seconds: number, language: string): string | null {
  const unitLength = units.find(([, length]) => seconds >= length);
  if (!unitLength) return null;
  const [unit, length] = unitLength;
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "narrow" }).format(Math.floor(seconds / length));
}

export function Age({ at }: { at: string }) {
  const strings = useStrings();
  const age = ageOf((useNow() - new Date(at).getTime()) / 1_000, strings.language);
  return <time dateTime={at} title={at}>{age ?? strings.justNow}</time>;
}
