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
