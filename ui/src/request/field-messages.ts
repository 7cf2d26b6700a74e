import { formatBytes } from "./files";
import type { RequestStrings } from "./strings";

type FieldStrings = RequestStrings["fieldSays"];

/** The server's field messages as patterns, with groups for the values in them. */
const sentences: [RegExp, (words: FieldStrings, ...found: string[]) => string][] = [
  [/^is required: answer it$/, (words) => words.required],
  [/^has (\d+) characters, at least (\d+) are needed: write more$/, (words, has = "", least = "") => words.tooShort(has, least)],
  [/^has (\d+) characters, at most (\d+) are allowed: shorten it$/, (words, has = "", most = "") => words.tooLong(has, most)],
  [/^.* is below (\S+): send at least \1$/s, (words, min = "") => words.below(min)],
  [/^.* is above (\S+): send at most \1$/s, (words, max = "") => words.above(max)],
  [/^.* is not on a step: use steps of ([\d.e+-]+)(?: from [\d.e+-]+)?$/s, (words, step = "") => words.offStep(step)],
  [/^.* is too early: send (\S+) or later$/s, (words, min = "") => words.tooEarly(min)],
  [/^.* is too late: send (\S+) or earlier$/s, (words, max = "") => words.tooLate(max)],
  [/^.* is not a valid date: send an existing day as YYYY-MM-DD$/s, (words) => words.noDay],
  [/^.* is not a valid date-time: send one with a UTC offset.*$/s, (words) => words.noMoment],
  [/^.* is not an option: choose from .*$/s, (words) => words.noOption],
  [/^.* is a duplicate: send each option once$/s, (words) => words.twice],
  [/^.* is outside ±\d+, where JSON loses precision: send it as text$/s, (words) => words.tooLarge],
  [/^has \d+ bytes: send a file of 1 to (\d+) bytes$/, (words, most = "", language = "") => words.fileSize(formatBytes(Number(most), language))],
  [/^is .* by its content: send .*$/s, (words) => words.fileType],
  [/^is \d+ × \d+ pixels: send a smaller image$/, (words) => words.imageTooLarge],
  [/^is not (an attached file: attach it to this request|a file that you attached here).*$/s, (words) => words.fileAgain],
  [/^\d+ files were attached to this request: it accepts no more$/, (words) => words.tooManyFiles],
  [/^the files of this request would exceed \d+ bytes: .*$/, (words) => words.tooManyFiles],
  [/^contains a NUL character: remove it$/, (words) => words.noNul],
  [/^contains an unpaired surrogate.*: send valid Unicode text$/, (words) => words.noUnicode],
  [/^must be a number, not .*: send it without quotes$/s, (words) => words.wrongType(["number"])],
  [/^must be text, not .*: send it in quotes$/s, (words) => words.wrongType(["string"])],
  [/^must be true or false, not .*: send one of the two$/s, (words) => words.wrongType(["boolean"])],
  [/^must be a list, not .*: send \[.*, …\]$/s, (words) => words.wrongType(["array"])],
  [/^is not a field of this form: remove it$/, (words) => words.unknown],
  [/^is required: write a message$/, (words) => words.messageRequired],
  [/^is required: enter the new task as text$/, (words) => words.taskRequired],
  [/^(is larger than \d+ bytes: shorten it|is too large for its schema .*|does not match the schema and is too large .*)$/, (words) => words.tooMuch],
];

/** The errors of JSON Schema, in the words of the server's validator. */
const schemaSentences: [RegExp, (words: FieldStrings, ...found: string[]) => string][] = [
  [/^is missing: add it$/, (words) => words.required],
  [/^is not in the schema: remove it$/, (words) => words.unknown],
  [/ is less than the minimum of ([^ ]+)$/, (words, min = "") => words.below(min)],
  [/ is greater than the maximum of ([^ ]+)$/, (words, max = "") => words.above(max)],
  [/ is less than or equal to the minimum of ([^ ]+)$/, (words, min = "") => words.greater(min)],
  [/ is greater than or equal to the maximum of ([^ ]+)$/, (words, max = "") => words.less(max)],
  [/ is not a multiple of ([^ ]+)$/, (words, step = "") => words.offStep(step)],
  [/ is shorter than (\d+) characters?$/, (words, least = "") => words.atLeastLong(least)],
  [/ is longer than (\d+) characters?$/, (words, most = "") => words.atMostLong(most)],
  [/" does not match "(.*)"$/s, (words, pattern = "") => words.noMatch(pattern)],
  [/ is not one of .*$/s, (words) => words.noOption],
  [/^(.*) was expected$/s, (words, value = "") => words.expected(value)],
  [/ is not of types? ("[a-z]+"(?:, "[a-z]+")*)$/, (words, kinds = "") => words.wrongType(kinds.match(/[a-z]+/g) ?? [])],
  [/ is not a "date"$/, (words) => words.noDay],
  [/ is not a "date-time"$/, (words) => words.noMoment],
  [/ is not a "([a-z-]+)"$/, (words, format = "") => words.wrongFormat(format)],
  [/ has less than (\d+) items?$/, (words, least = "") => words.fewItems(least)],
  [/ has more than (\d+) items?$/, (words, most = "") => words.manyItems(most)],
  [/ has non-unique elements$/, (words) => words.twice],
  [/./s, (words) => words.noFit],
];

const schemaMessage = /^is missing: add it$|^is not in the schema: remove it$|: send a value that fits$/;

/** Translate a field message of the server; an unknown message is returned unchanged. */
export function translateFieldMessage(message: string, { fieldSays, language }: RequestStrings): string {
  const isSchemaMessage = schemaMessage.test(message);
  const text = isSchemaMessage ? message.replace(/: send a value that fits$/, "") : message;
  for (const [sentence, words] of isSchemaMessage ? schemaSentences : sentences) {
    const found = sentence.exec(text);
    if (found) return words(fieldSays, ...found.slice(1), language);
  }
  return message;
}
