const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** Return the start of a text up to a number of words, and the number of words in it. */
export function firstWords(text: string, most: number): { start: string; words: number; isWhole: boolean } {
  let words = 0;
  for (const { index, isWordLike } of segmenter.segment(text)) {
    if (!isWordLike) continue;
    if (words === most) return { start: `${text.slice(0, index).trimEnd()}…`, words, isWhole: false };
    words += 1;
  }
  return { start: text, words, isWhole: true };
}
