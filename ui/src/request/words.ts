import { useStrings, type Strings } from "../strings";
import { detail, type Detail } from "../strings/en/detail";

export type Words = Strings & Detail;

const together = new WeakMap<Strings, Words>();

/** All words of a request's page: those of the list, and its own. */
export function useWords(): Words {
  const strings = useStrings();
  const known = together.get(strings);
  if (known) return known;
  const words = { ...strings, ...(strings.detail ?? detail) };
  together.set(strings, words);
  return words;
}
