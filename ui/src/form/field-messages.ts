import type { RequestStrings } from "../strings/use-request-strings";
import { formatBytes } from "./values";

type FieldStrings = RequestStrings["fieldMessages"];

/** The server's field messages as patterns, with groups for the values in them. */
const sentences: [RegExp, (strings: FieldStrings, ...parts: string[]) => string][] = [
  [/^is required: answer it$/, (strings) => strings.required],
  [/^has (\d+) characters, at least (\d+) are needed: write more$/, (strings, has = "", least = "") => strings.tooShort(has, least)],
  [/^has (\d+) characters, at most (\d+) are allowed: shorten it$/, (strings, has = "", most = "") => strings.tooLong(has, most)],
  [/^.* is below (\S+): send at least \1$/s, (strings, min = "") => strings.belowMinimum(min)],
  [/^.* is above (\S+): send at most \1$/s, (strings, max = "") => strings.aboveMaximum(max)],
  [/^.* is not on a step: use steps of ([\d.e+-]+)(?: from [\d.e+-]+)?$/s, (strings, step = "") => strings.notMultipleOfStep(step)],
  [/^.* is too early: send (\S+) or later$/s, (strings, min = "") => strings.tooEarly(min)],
  [/^.* is too late: send (\S+) or earlier$/s, (strings, max = "") => strings.tooLate(max)],
  [/^.* is not a valid date: send an existing day as YYYY-MM-DD$/s, (strings) => strings.invalidDay],
  [/^.* is not a valid date-time: send one with a UTC offset.*$/s, (strings) => strings.invalidDateTime],
  [/^.* is not an option: choose from .*$/s, (strings) => strings.invalidOption],
  [/^.* is a duplicate: send each option once$/s, (strings) => strings.duplicateOption],
  [/^.* is outside ±\d+, where JSON loses precision: send it as text$/s, (strings) => strings.tooLarge],
  [/^has \d+ bytes: send a file of 1 to (\d+) bytes$/, (strings, most = "", language = "") => strings.fileSize(formatBytes(Number(most), language))],
  [/^is .* by its content: send .*$/s, (strings) => strings.fileType],
  [/^is \d+ × \d+ pixels: send a smaller image$/, (strings) => strings.imageTooLarge],
  [/^is not (an attached file: attach it to this request|a file that you attached here).*$/s, (strings) => strings.reattachFile],
  [/^\d+ files were attached to this request: it accepts no more$/, (strings) => strings.tooManyFiles],
  [/^the files of this request would exceed \d+ bytes: .*$/, (strings) => strings.tooManyFiles],
  [/^contains a NUL character: remove it$/, (strings) => strings.nulCharacter],
  [/^contains an unpaired surrogate.*: send valid Unicode text$/, (strings) => strings.invalidUnicode],
  [/^must be a number, not .*: send it without quotes$/s, (strings) => strings.wrongType(["number"])],
  [/^must be text, not .*: send it in quotes$/s, (strings) => strings.wrongType(["string"])],
  [/^must be true or false, not .*: send one of the two$/s, (strings) => strings.wrongType(["boolean"])],
  [/^must be a list, not .*: send \[.*, …\]$/s, (strings) => strings.wrongType(["array"])],
  [/^is not a field of this form: remove it$/, (strings) => strings.unexpectedValue],
  [/^is required: write a message$/, (strings) => strings.messageRequired],
  [/^is required: enter the new task as text$/, (strings) => strings.taskRequired],
  [/^(is larger than \d+ bytes: shorten it|is too large for its schema .*|does not match the schema and is too large .*)$/, (strings) => strings.valueTooLarge],
];

/** The errors of JSON Schema, in the words of the server's validator. */
const schemaSentences: [RegExp, (strings: FieldStrings, ...parts: string[]) => string][] = [
  [/^is missing: add it$/, (strings) => strings.required],
  [/^is not in the schema: remove it$/, (strings) => strings.unexpectedValue],
  [/ is less than the minimum of ([^ ]+)$/, (strings, min = "") => strings.belowMinimum(min)],
  [/ is greater than the maximum of ([^ ]+)$/, (strings, max = "") => strings.aboveMaximum(max)],
  [/ is less than or equal to the minimum of ([^ ]+)$/, (strings, min = "") => strings.mustBeGreater(min)],
  [/ is greater than or equal to the maximum of ([^ ]+)$/, (strings, max = "") => strings.mustBeLess(max)],
  [/ is not a multiple of ([^ ]+)$/, (strings, step = "") => strings.notMultipleOfStep(step)],
  [/ is shorter than (\d+) characters?$/, (strings, least = "") => strings.minimumLength(least)],
  [/ is longer than (\d+) characters?$/, (strings, most = "") => strings.maximumLength(most)],
  [/" does not match "(.*)"$/s, (strings, pattern = "") => strings.patternMismatch(pattern)],
  [/ is not one of .*$/s, (strings) => strings.invalidOption],
  [/^(.*) was expected$/s, (strings, value = "") => strings.onlyAccepted(value)],
  [/ is not of types? ("[a-z]+"(?:, "[a-z]+")*)$/, (strings, kinds = "") => strings.wrongType(kinds.match(/[a-z]+/g) ?? [])],
  [/ is not a "date"$/, (strings) => strings.invalidDay],
  [/ is not a "date-time"$/, (strings) => strings.invalidDateTime],
  [/ is not a "([a-z-]+)"$/, (strings, format = "") => strings.wrongFormat(format)],
  [/ has less than (\d+) items?$/, (strings, least = "") => strings.tooFewItems(least)],
  [/ has more than (\d+) items?$/, (strings, most = "") => strings.tooManyItems(most)],
  [/ has non-unique elements$/, (strings) => strings.duplicateOption],
  [/./s, (strings) => strings.valueNotAccepted],
];

const schemaMessage = /^is missing: add it$|^is not in the schema: remove it$|: send a value that fits$/;

/** Translate a field message of the server; an unknown message is returned unchanged. */
export function translateFieldMessage(message: string, { fieldMessages, language }: RequestStrings): string {
  const isSchemaMessage = schemaMessage.test(message);
  const text = isSchemaMessage ? message.replace(/: send a value that fits$/, "") : message;
  for (const [sentence, translate] of isSchemaMessage ? schemaSentences : sentences) {
    const parts = sentence.exec(text);
    if (parts) return translate(fieldMessages, ...parts.slice(1), language);
  }
  return message;
}
