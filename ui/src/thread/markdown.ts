import { maxDepth, parseInlines, type Inline } from "./inlines";

export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; children: Inline[] }
  | { kind: "quote"; children: Block[] }
  | { kind: "list"; start: number | null; items: Block[][] }
  | { kind: "code"; text: string }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}#{1,6}\s+/;
const rule = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const quoted = /^ {0,3}> ?/;
const bullet = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s+|$)/;
const tableDivider = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const isBlank = (line: string) => line.trim() === "";

/** A cursor over lines. */
class Lines {
  private at = 0;

  constructor(private readonly lines: string[]) {}

  get next(): string | undefined {
    return this.lines[this.at];
  }

  take(): string {
    return this.lines[this.at++] ?? "";
  }

  /** The line after the next. */
  get second(): string | undefined {
    return this.lines[this.at + 1];
  }

  takeWhile(matches: (line: string) => boolean): string[] {
    const first = this.at;
    while (this.next !== undefined && matches(this.next)) this.at++;
    return this.lines.slice(first, this.at);
  }
}

function codeBlock(lines: Lines): Block {
  const mark = fence.exec(lines.take())?.[1] ?? "```";
  const closing = new RegExp(`^ {0,3}${mark.charAt(0)}{${mark.length},}\\s*$`);
  const inside = lines.takeWhile((line) => !closing.test(line));
  lines.take();
  return { kind: "code", text: inside.join("\n") };
}

function listItem(lines: Lines, depth: number): Block[] {
  const first = lines.take();
  const width = bullet.exec(first)?.[0].length ?? 0;
  const rest = lines.takeWhile((line) => /^\s{2,}\S/.test(line));
  const indent = Math.min(width, ...rest.map((line) => line.search(/\S/)));
  return parseBlocks([first.slice(width), ...rest.map((line) => line.slice(indent))].join("\n"), depth + 1);
}

const isNumbered = (line: string) => /^\s*\d/.test(line);

function list(lines: Lines, depth: number): Block {
  const first = lines.next ?? "";
  const continuesList = (line: string | undefined) =>
    line !== undefined && bullet.test(line) && !rule.test(line) && isNumbered(line) === isNumbered(first);
  const items: Block[][] = [];
  while (continuesList(lines.next)) {
    items.push(listItem(lines, depth));
    lines.takeWhile(isBlank);
  }
  return { kind: "list", start: isNumbered(first) ? Number.parseInt(first, 10) : null, items };
}

/** Return the cells of a table row; an escaped pipe does not separate cells. */
function cells(line: string): Inline[][] {
  return line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => parseInlines(cell.trim()));
}

const beginsTable = (line: string, second: string | undefined) => line.includes("|") && second?.includes("|") === true && tableDivider.test(second);

function table(lines: Lines): Block {
  const head = cells(lines.take());
  lines.take();
  const rows = lines.takeWhile((line) => line.includes("|")).map(cells);
  return { kind: "table", head, rows: rows.map((row) => head.map((_, at) => row[at] ?? [])) };
}

// "1182. of these" in the middle of a paragraph is no list.
const breaksParagraph = /^ {0,3}(?:[-*+]|1[.)])\s/;
const starts = (line: string) => [fence, heading, rule, quoted, breaksParagraph].some((mark) => mark.test(line));

function block(lines: Lines, depth: number): Block {
  const line = lines.next ?? "";
  if (fence.test(line)) return codeBlock(lines);
  if (heading.test(line)) return { kind: "heading", children: parseInlines(lines.take().replace(heading, "").trimEnd().replace(/\s#+$/, "")) };
  if (rule.test(line)) {
    lines.take();
    return { kind: "rule" };
  }
  if (quoted.test(line)) {
    const inside = lines.takeWhile((one) => quoted.test(one)).map((one) => one.replace(quoted, ""));
    return { kind: "quote", children: parseBlocks(inside.join("\n"), depth + 1) };
  }
  if (bullet.test(line)) return list(lines, depth);
  if (beginsTable(line, lines.second)) return table(lines);
  const first = lines.take();
  const rest = lines.takeWhile((one) => !isBlank(one) && !starts(one));
  return { kind: "paragraph", children: parseInlines([first, ...rest].join("\n")) };
}

/** Parse a small, safe subset of Markdown: no HTML, no images. */
export function parseBlocks(text: string, depth = 0): Block[] {
  if (depth > maxDepth) return [{ kind: "paragraph", children: [text] }];
  const lines = new Lines(text.split(/\r?\n/));
  const result: Block[] = [];
  for (;;) {
    lines.takeWhile(isBlank);
    if (lines.next === undefined) return result;
    result.push(block(lines, depth));
  }
}
