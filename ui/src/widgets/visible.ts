/**
 * Characters that a person cannot see or that reorder what they see: controls, format and bidi characters, tags,
 * fillers, lone surrogates, private and unassigned code points. Tab, line feed and the CR of a CRLF stay.
 */
const hidden =
  /(?![\t\n]|\r\n)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const pictograph = /\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F]?$/u;
const beginsWithPictograph = /^\p{Extended_Pictographic}/u;

/** An emoji's own joiner or colour selector draws what it says; anywhere else the same character hides something. */
function belongsToEmoji(found: string, before: string, after: string): boolean {
  if (found === "\uFE0F") return /\p{Extended_Pictographic}$/u.test(before);
  return found === "\u200D" && pictograph.test(before) && beginsWithPictograph.test(after);
}

/** Return text in which every invisible or reordering character is written as \u{…}. */
export function visible(text: string): string {
  return text.replace(hidden, (found, at: number) => {
    const end = at + found.length;
    if (belongsToEmoji(found, text.slice(Math.max(0, at - 4), at), text.slice(end, end + 2))) return found;
    return `\\u{${found.codePointAt(0)?.toString(16) ?? ""}}`;
  });
}

/** Return a JSON value as a person reads it: quotes keep "5" apart from 5, and nothing hides. */
export function visibleJson(value: unknown): string {
  if (typeof value === "string") return `"${visible(value)}"`;
  return visible(JSON.stringify(value, null, 2) ?? "");
}
