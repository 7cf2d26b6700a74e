import type { Json } from "../../api/types";
import { ValueDiff } from "../../form/value-diff";
import { useStrings } from "../../strings";
import { inLanguage } from "./value";

const isShortText = (value: Json | undefined) => typeof value === "string" && value.length <= 40 && !value.includes("\n");

/** A change of a value; short texts are shown as text, not as JSON. */
export function ValueChange(change: { before: Json; after: Json }) {
  const { language } = useStrings();
  const [before, after] = [inLanguage(change.before, language), inLanguage(change.after, language)];
  return <ValueDiff before={before} after={after} format={isShortText(before) && isShortText(after) ? String : undefined} />;
}
