import type { Json } from "../api/types";
import { Change } from "../request/change";

const isShort = (value: Json | undefined) => typeof value === "string" && value.length <= 40 && !value.includes("\n");

/** A change between words is shown as words, not as JSON. */
export function ShortChange({ before, after }: { before: Json; after: Json }) {
  return <Change before={before} after={after} write={isShort(before) && isShort(after) ? String : undefined} />;
}
