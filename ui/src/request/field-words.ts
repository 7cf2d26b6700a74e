import type { Words } from "./words";

type Field = Words["fieldSays"];

/** What the server says of a value that does not fit, by its whole sentence, and the places of what varies in it. */
const sentences: [RegExp, (words: Field, ...found: string[]) => string][] = [
  [/^is required: answer it$/, (words) => words.required],
  [/^has (\d+) characters, at least (\d+) are needed: write more$/, (words, has = "", least = "") => words.tooShort(has, least)],
  [/^has (\d+) characters, at most (\d+) are allowed: shorten it$/, (words, has = "", most = "") => words.tooLong(has, most)],
  [/^.* is below (\S+): send at least \1$/s, (words, min = "") => words.below(min)],
  [/^.* is above (\S+): send at most \1$/s, (words, max = "") => words.above(max)],
  [/^.* is between the steps: count in steps of ([\d.e+-]+)(?: from [\d.e+-]+)?$/s, (words, step = "") => words.offStep(step)],
  [/^.* is too early: send (\S+) or later$/s, (words, min = "") => words.tooEarly(min)],
  [/^.* is too late: send (\S+) or earlier$/s, (words, max = "") => words.tooLate(max)],
  [/^.* is no day: send one that exists, as YYYY-MM-DD$/s, (words) => words.noDay],
  [/^.* is no moment: send one with its offset.*$/s, (words) => words.noMoment],
  [/^.* is not an option: choose from .*$/s, (words) => words.noOption],
  [/^.* is there twice: send each option once$/s, (words) => words.twice],
  [/^.* is beyond ±\d+, where JSON loses digits: send it as text$/s, (words) => words.tooLarge],
  [/^holds a NUL character: remove it$/, (words) => words.noNul],
];

/** What the server says of a field in this person's language; what the page does not know, as it is. */
export function fieldWords(message: string, { fieldSays }: Words): string {
  for (const [sentence, words] of sentences) {
    const found = sentence.exec(message);
    if (found) return words(fieldSays, ...found.slice(1));
  }
  return message;
}
