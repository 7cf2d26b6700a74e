/**
 * Characters that a person cannot see or that reorder what they see: controls, format and bidi characters, tags,
 * fillers, lone surrogates, private and unassigned code points. Tab, line feed and the CR of a CRLF stay.
 */
const hiddenCharacters =
  /(?![\t\n]|\r\n)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const pictograph = /\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F]?$/u;
const beginsWithPictograph = /^\p{Extended_Pictographic}/u;

/** Return whether a joiner or a variation selector is part of an emoji. */
function belongsToEmoji(found: string, before: string, after: string): boolean {
  if (found === "\uFE0F") return /\p{Extended_Pictographic}$/u.test(before);
  return found === "\u200D" && pictograph.test(before) && beginsWithPictograph.test(after);
}

/** More than four marks on one letter would cover the lines above and below. */
const stackedMarks = /(?<=\p{M}{4})\p{M}/gu;

const escapeCodePoint = (found: string) => `\\u{${found.codePointAt(0)?.toString(16) ?? ""}}`;

/** Escape every character that is invisible, reorders others or covers them as \u{…}. */
export function visible(text: string): string {
  return text.replace(stackedMarks, escapeCodePoint).replace(hiddenCharacters, (found, at: number, whole: string) => {
    const end = at + found.length;
    return belongsToEmoji(found, whole.slice(Math.max(0, at - 4), at), whole.slice(end, end + 2)) ? found : escapeCodePoint(found);
  });
}

/** Format a JSON value for reading: quotes distinguish "5" from 5, and hidden characters are escaped. */
export function visibleJson(value: unknown): string {
  if (typeof value === "string") return `"${visible(value)}"`;
  return visible(JSON.stringify(value, null, 2) ?? "");
}

const escapeUnits = (found: string) =>
  Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** Format a value as JSON for editing, with hidden characters as JSON escapes, so that the value stays equal. */
export function visibleSource(value: unknown): string {
  const source = JSON.stringify(value, null, 2) ?? "null";
  return source.replace(stackedMarks, escapeUnits).replace(hiddenCharacters, escapeUnits);
}

/**
 * Latin, Cyrillic, Greek, Armenian and Cherokee; of Greek only the letters that look like others: kΩ is a unit.
 * `src/ringi/base/alphabets.py` has the same rule.
 */
const alphabets = [
  /[A-Za-z\u00AA\u00BA\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02AF\u1E00-\u1EFF\uFF21-\uFF3A\uFF41-\uFF5A]/u,
  /[\u0400-\u052F\u1C80-\u1C8F\uA640-\uA69F]/u,
  /[\u0386-\u038F\u0391\u0392\u0395-\u0397\u0399\u039A\u039C\u039D\u039F\u03A1\u03A4\u03A5\u03A7\u03AC\u03AF\u03B1\u03B3\u03B9\u03BA\u03BD\u03BF\u03C1\u03C4\u03C5\u03C7\u03C9\u03CC-\u03CE\u03F2\u03F3]/u,
  /[\u0531-\u0587]/u,
  /[\u13A0-\u13FD\uAB70-\uABBF]/u,
];

/** An escape of JSON, or letters and digits with what joins them in an address. */
const runs = /\\[bfnrt]|(?::\/\/)?[\p{L}\p{N}\u0300-\u036F._%+@-]+/gu;
const words = /[\p{L}\p{N}\u0300-\u036F]+/gu;
const isAscii = (text: string) => !/[^\0-\x7F]/.test(text);

interface MixedWord {
  at: number;
  text: string;
  /** Its letters of other alphabets than most of its letters. */
  letters: string[];
}

function oddLetters(word: string): string[] {
  const found = Array.from(word, (letter) => ({ letter, alphabet: alphabets.findIndex((one) => one.test(letter)) })).filter(({ alphabet }) => alphabet >= 0);
  const counts = alphabets.map((_, number) => found.filter(({ alphabet }) => alphabet === number).length);
  const main = counts.indexOf(Math.max(...counts));
  return [...new Set(found.filter(({ alphabet }) => alphabet !== main).map(({ letter }) => letter))];
}

function partsOf(run: string): { at: number; text: string }[] {
  if (run.startsWith("\\")) return [];
  if (run.startsWith("://") || run.includes("@", 1)) return [{ at: 0, text: run }];
  return Array.from(run.matchAll(words), (word) => ({ at: word.index, text: word[0] }));
}

/** Return letters with their code points, by which they differ from those that look like them. */
export const withCodes = (letters: readonly string[]) => letters.map((letter) => `${letter} (U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")})`).join(", ");

/** Return the words of a text, and its addresses as a whole, that mix alphabets whose letters look alike. */
export function mixedWords(text: string): MixedWord[] {
  if (isAscii(text)) return [];
  return Array.from(text.matchAll(runs)).flatMap((run) => partsOf(run[0])
    .filter((part) => !isAscii(part.text))
    .map((part) => ({ at: run.index + part.at, text: part.text, letters: oddLetters(part.text) }))
    .filter(({ letters }) => letters.length > 0));
}
