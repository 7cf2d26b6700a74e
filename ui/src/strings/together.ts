import { useStrings, type Strings } from ".";

type Part = "detail" | "chat" | "memory" | "assistant" | "learning";
type With<P extends Part> = Strings & NonNullable<Strings[P]>;

/** Return the hook that gives the words of every page and those of one part; in English these come with the part. */
export function togetherWith<P extends Part>(part: P, english: NonNullable<Strings[P]>): () => With<P> {
  const together = new WeakMap<Strings, With<P>>();
  return function useTogether() {
    const strings = useStrings();
    const known = together.get(strings);
    if (known) return known;
    const words: With<P> = { ...strings, ...(strings[part] ?? english) };
    together.set(strings, words);
    return words;
  };
}
