import type { Json } from "../api/types";
import { Change } from "../request/change";
import { useStrings } from "../strings";
import { inLanguage } from "./value";

const isShort = (value: Json | undefined) => typeof value === "string" && value.length <= 40 && !value.includes("\n");

/** A change between words is shown as words, not as JSON. */
export function ShortChange(change: { before: Json; after: Json }) {
  const { language } = useStrings();
  const [before, after] = [inLanguage(change.before, language), inLanguage(change.after, language)];
  return <Change before={before} after={after} write={isShort(before) && isShort(after) ? String : undefined} />;
}
