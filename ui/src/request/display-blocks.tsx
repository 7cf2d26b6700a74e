import { Image, Table } from "antd";
import { diffLines } from "diff";
import { createElement } from "react";
import type { Code, Diff, Image as Picture, Link, Request, Table as Rows } from "../api/schema";
import { AgentText, JsonValue } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { useWords } from "./words";

type Block = NonNullable<Request["display"]>[number];

const atOnce = 20;
/** Lines of an unchanged part that stay around a change. */
const around = 3;

function Cells({ block: { columns, rows } }: { block: Rows }) {
  const strings = useWords();
  const heads = columns.map((title, column) => ({
    key: String(column), title: visible(title), dataIndex: String(column),
    ...(rows.every((row) => typeof row[column] === "number") && { align: "end" as const }),
    render: (cell: unknown) => (typeof cell === "string" ? <AgentText text={cell} /> : cell === null ? null : <JsonValue value={cell} />),
  }));
  const data = rows.map((row, number) => ({ key: number, ...Object.fromEntries(row.map((cell, column) => [String(column), cell])) }));
  return (
    <Table
      size="small" bordered columns={heads} dataSource={data} scroll={{ x: "max-content" }}
      pagination={rows.length > atOnce && { pageSize: atOnce, showSizeChanger: false, showTotal: (all, [first, last]) => strings.rowsOf(first, last, all) }}
    />
  );
}

/** The media types that the server takes, by how base64 of their first bytes begins. */
const kinds = { iVBORw0KGgo: "image/png", R0lGOD: "image/gif", "/9j/": "image/jpeg", UklGR: "image/webp" };

function Shown({ block: { data, alt } }: { block: Picture }) {
  const media = Object.entries(kinds).find(([start]) => data.startsWith(start))?.[1];
  if (!media) return <AgentText text={alt} />;
  return <Image src={`data:${media};base64,${data}`} alt={visible(alt)} className="display-image" />;
}

interface Line {
  kind: "gone" | "new" | "same";
  text: string;
}

/** Lines that stay as they are, far from any change: their number, and behind it they themselves. */
interface Hidden {
  kind: "hidden";
  lines: string[];
}

const linesOf = (value: string) => value.replace(/\n$/, "").split("\n");
const drawn = (kind: Line["kind"], lines: string[]): Line[] => lines.map((text) => ({ kind, text }));

function unchanged(lines: string[], isFirst: boolean, isLast: boolean): (Line | Hidden)[] {
  const [head, end] = [isFirst ? 0 : around, lines.length - (isLast ? 0 : around)];
  if (end - head < 2) return drawn("same", lines);
  return [...drawn("same", lines.slice(0, head)), { kind: "hidden", lines: lines.slice(head, end) }, ...drawn("same", lines.slice(end))];
}

function compared({ before, after }: Diff): (Line | Hidden)[] {
  const parts = diffLines(before, after, { timeout: 500 }) as ReturnType<typeof diffLines> | undefined;
  // What takes too long to compare is shown whole, one after the other.
  if (!parts) return [...drawn("gone", linesOf(before)), ...drawn("new", linesOf(after))];
  return parts.flatMap(({ removed, added, value }, at) => {
    if (removed || added) return drawn(removed ? "gone" : "new", linesOf(value));
    return unchanged(linesOf(value), at === 0, at === parts.length - 1);
  });
}

const looks = { gone: ["del", "− "], new: ["ins", "+ "], same: ["span", "  "] } as const;

function ChangeLine({ line }: { line: Line | Hidden }) {
  const strings = useWords();
  if (line.kind === "hidden") {
    return <details><summary className="quiet">{strings.sameLines(line.lines.length)}</summary>{line.lines.map((text) => `  ${visible(text)}`).join("\n")}</details>;
  }
  const [tag, sign] = looks[line.kind];
  return createElement(tag, { className: "display-line" }, sign, visible(line.text));
}

function Change({ block }: { block: Diff }) {
  return createElement("div", { className: "display-code" }, ...compared(block).map((line) => createElement(ChangeLine, { line })));
}

function Source({ block: { text } }: { block: Code }) {
  return <pre className="display-code">{visible(text)}</pre>;
}

/** A link shows where it leads, and what it leads to learns nothing of this page. */
function Target({ block: { url } }: { block: Link }) {
  return <a href={url} target="_blank" rel="noopener noreferrer nofollow" className="display-link">{visible(url)}</a>;
}

function Body({ block }: { block: Block }) {
  switch (block.type) {
    case "table": return <Cells block={block} />;
    case "image": return <Shown block={block} />;
    case "diff": return <Change block={block} />;
    case "link": return /^https?:\/\//i.test(block.url) ? <Target block={block} /> : <AgentText text={block.url} />;
    case "code": return <Source block={block} />;
    // What a newer server shows is shown as it came: it is under the digest.
    default: return <JsonValue value={block} />;
  }
}

const extra = (block: Block) => (block.type === "code" ? block.language : null);

function Figure({ block }: { block: Block }) {
  const language = extra(block);
  return (
    <figure data-testid={`display-${block.type}`}>
      {(block.title || language) && (
        <figcaption>{block.title && <AgentText text={block.title} />} {language && <span className="quiet">{visible(language)}</span>}</figcaption>
      )}
      <Body block={block} />
    </figure>
  );
}

/** What an agent shows beside its words: as such, and as its own. */
export default function DisplayBlocks({ blocks }: { blocks: Block[] }) {
  const strings = useWords();
  return (
    <section className="display" data-testid="display" aria-label={strings.shownByAgent}>
      <div className="quiet">{strings.shownByAgent}</div>
      {createElement("div", { className: "display-blocks" }, ...blocks.map((block) => createElement(Figure, { block })))}
    </section>
  );
}
