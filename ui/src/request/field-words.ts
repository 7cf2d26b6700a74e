import { bytesIn } from "./files";
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
  [/^has \d+ bytes: send a file of 1 to (\d+) bytes$/, (words, most = "", language = "") => words.fileSize(bytesIn(Number(most), language))],
  [/^is .* by its bytes: send .*$/s, (words) => words.fileType],
  [/^is \d+ × \d+ pixels: send a smaller image$/, (words) => words.imageTooLarge],
  [/^(is no attached file: attach it to this request|names no file that you attached here).*$/s, (words) => words.fileAgain],
  [/^\d+ files were attached to this request: it takes no more$/, (words) => words.tooManyFiles],
  [/^the files of this request would be over \d+ bytes: .*$/, (words) => words.tooManyFiles],
  [/^holds a NUL character: remove it$/, (words) => words.noNul],
];

/** What the server says of a field in this person's language; what the page does not know, as it is. */
export function fieldWords(message: string, { fieldSays, language }: Words): string {
  for (const [sentence, words] of sentences) {
    const found = sentence.exec(message);
    if (found) return words(fieldSays, ...found.slice(1), language);
  }
  return message;
}
