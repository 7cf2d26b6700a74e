import { useStrings, type Strings } from ".";

type Section = "detail" | "chat" | "memory" | "assistant" | "learning" | "overview";
type StringsWith<P extends Section> = Strings & NonNullable<Strings[P]>;

/** Create a hook that returns the strings of every page and of one section. */
export function createSectionStrings<P extends Section>(part: P, english: NonNullable<Strings[P]>): () => StringsWith<P> {
  const cache = new WeakMap<Strings, StringsWith<P>>();
  return function useSectionStrings() {
    const strings = useStrings();
    const cached = cache.get(strings);
    if (cached) return cached;
    const merged: StringsWith<P> = { ...strings, ...(strings[part] ?? english) };
    cache.set(strings, merged);
    return merged;
  };
}
