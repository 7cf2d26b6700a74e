export type Inline =
  | string
  | { kind: "strong" | "em" | "del"; children: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "link"; href: string; children: Inline[] };

// Limits that keep a hostile text from freezing the page.
export const maxDepth = 6;
const maxLength = 4_000;

const inlinePattern = new RegExp(
  [
    /\\(?<escaped>[!-/:-@[-`{-~])/,
    /(?<ticks>`+)(?<code>[^`](?:[^]*?[^`])?)\k<ticks>(?!`)/,
    /\*\*(?=\S)(?<strong>[^]+?)\*\*(?!\*)/,
    /~~(?=\S)(?<del>[^]+?)~~/,
    /\*(?![\s*])(?<star>[^*]*[^\s*])\*/,
    /(?<![\p{L}\p{N}_])_(?![\s_])(?<under>[^_]*[^\s_])_(?![\p{L}\p{N}_])/u,
    /\[(?<text>[^\]\n]+)\]\(<?(?<target>[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"\n]*")?\)/,
    /(?<bare>https?:\/\/[^\s<>()[\]"'`、。，；：！？」』）]+[^\s<>()[\]"'`、。，；：！？」』）.,;:!?*_~])/,
  ].map(({ source }) => source).join("|"),
  "gu",
);

/** Return the address as the browser would open it; null if it is not a web address. */
export function addressOf(target: string): string | null {
  if (!/^(https?:\/\/|mailto:)/i.test(target) || !URL.canParse(target)) return null;
  return new URL(target).href;
}

function toInline({ groups, 0: whole }: RegExpMatchArray, depth: number): Inline {
  const { escaped, code, strong, del, star, under, text, target, bare } = groups ?? {};
  if (escaped !== undefined) return escaped;
  if (code !== undefined) return { kind: "code", text: /^ .*\S.* $/s.test(code) ? code.slice(1, -1) : code };
  if (strong !== undefined) return { kind: "strong", children: parseInlines(strong, depth + 1) };
  if (del !== undefined) return { kind: "del", children: parseInlines(del, depth + 1) };
  const em = star ?? under;
  if (em !== undefined) return { kind: "em", children: parseInlines(em, depth + 1) };
  const href = addressOf(target ?? bare ?? "");
  if (href === null) return whole;
  return { kind: "link", href, children: text === undefined ? [bare ?? ""] : parseInlines(text, maxDepth) };
}

/** Parse the inline marks of a paragraph; anything else, including HTML, stays text. */
export function parseInlines(text: string, depth = 0): Inline[] {
  if (depth > maxDepth || text.length > maxLength) return [text];
  const result: Inline[] = [];
  let at = 0;
  for (const match of text.matchAll(inlinePattern)) {
    if (match.index > at) result.push(text.slice(at, match.index));
    result.push(depth === maxDepth ? match[0] : toInline(match, depth));
    at = match.index + match[0].length;
  }
  return at < text.length ? [...result, text.slice(at)] : result;
}
