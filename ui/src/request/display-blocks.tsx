import { Image } from "antd";
import { diffLines } from "diff";
import { createElement, type ComponentProps } from "react";
import type { Diff, Image as Picture } from "../api/schema";
import { useRequestStrings } from "../strings/detail";
import { CodeView } from "../values/code-view";
import { LinkCard } from "../values/link-card";
import { PatchView } from "../values/patch-view";
import { RowsTable } from "../values/rows-table";
import { isWebAddress } from "../values/shape";
import { AgentText } from "../widgets/agent-text";
import { JsonValue } from "../widgets/json-value";
import { visible } from "../base/visible";
import type { Block, CallBlock } from "./client-call";

/** Number of unchanged lines shown around a change. */
const contextLines = 3;

/** Media types that the server accepts, by the start of their base64 text. */
const kinds = { iVBORw0KGgo: "image/png", R0lGOD: "image/gif", "/9j/": "image/jpeg", UklGR: "image/webp" };

function ImageBlock({ block: { data, alt } }: { block: Picture }) {
  const media = Object.entries(kinds).find(([start]) => data.startsWith(start))?.[1];
  if (!media) return <AgentText text={alt} />;
  return <Image src={`data:${media};base64,${data}`} alt={visible(alt)} className="display-image" />;
}

interface Line {
  kind: "removed" | "added" | "same";
  text: string;
}

/** Unchanged lines far from any change, collapsed to their number. */
interface CollapsedLines {
  kind: "hidden";
  lines: string[];
}

const linesOf = (value: string) => value.replace(/\n$/, "").split("\n");
const toLines = (kind: Line["kind"], lines: string[]): Line[] => lines.map((text) => ({ kind, text }));

function unchanged(lines: string[], isFirst: boolean, isLast: boolean): (Line | CollapsedLines)[] {
  const [head, end] = [isFirst ? 0 : contextLines, lines.length - (isLast ? 0 : contextLines)];
  if (end - head < 2) return toLines("same", lines);
  return [...toLines("same", lines.slice(0, head)), { kind: "hidden", lines: lines.slice(head, end) }, ...toLines("same", lines.slice(end))];
}

function diffOf({ before, after }: Diff): (Line | CollapsedLines)[] {
  const parts = diffLines(before, after, { timeout: 500 }) as ReturnType<typeof diffLines> | undefined;
  // If the comparison takes too long, show both texts whole, one after the other.
  if (!parts) return [...toLines("removed", linesOf(before)), ...toLines("added", linesOf(after))];
  return parts.flatMap(({ removed, added, value }, at) => {
    if (removed || added) return toLines(removed ? "removed" : "added", linesOf(value));
    return unchanged(linesOf(value), at === 0, at === parts.length - 1);
  });
}

const lineStyles = { removed: ["del", "− "], added: ["ins", "+ "], same: ["span", "  "] } as const;

function DiffLine({ line }: { line: Line | CollapsedLines }) {
  const strings = useRequestStrings();
  if (line.kind === "hidden") {
    return <details><summary className="quiet">{strings.unchangedLines(line.lines.length)}</summary>{line.lines.map((text) => `  ${visible(text)}`).join("\n")}</details>;
  }
  const [tag, sign] = lineStyles[line.kind];
  return createElement(tag, { className: "display-line" }, sign, visible(line.text));
}

function DiffBlock({ block }: { block: Diff }) {
  return createElement("div", { className: "display-code" }, ...diffOf(block).map((line) => createElement(DiffLine, { line })));
}

function Body({ block, hasHead }: { block: Block; hasHead: boolean }) {
  switch (block.type) {
    case "table": return <RowsTable columns={block.columns} rows={block.rows} hasHead={hasHead} />;
    case "image": return <ImageBlock block={block} />;
    case "diff": return <DiffBlock block={block} />;
    case "link": return isWebAddress(block.url) ? <LinkCard url={block.url} /> : <AgentText text={block.url} />;
    case "code": return block.language === "diff" ? <PatchView text={block.text} /> : <CodeView text={block.text} language={block.language ?? "code"} />;
    // A block type of a newer server is shown as JSON, because the digest covers it.
    default: return <JsonValue value={block} />;
  }
}

const extra = (block: Block) => (block.type === "code" ? block.language : null);

interface FigureProps {
  block: Block;
  title?: string | null | undefined;
  hasHead?: boolean;
  note?: string | undefined;
}

/** One block with its title. */
function Figure({ block, title = block.title, hasHead = true, note }: FigureProps) {
  const language = extra(block);
  return (
    <figure data-testid={`display-${block.type}`}>
      {(title || language) && (
        <figcaption>{title && <AgentText text={title} />} {language && <span className="quiet">{visible(language)}</span>}</figcaption>
      )}
      <Body block={block} hasHead={hasHead} />
      {note && <div className="quiet" data-testid="display-note">{note}</div>}
    </figure>
  );
}

/** The blocks that show a client's call; what they show stands in its arguments. The header has the folder already. */
function CallBlocks({ blocks, folder }: { blocks: CallBlock[]; folder: string | undefined }) {
  const { client } = useRequestStrings();
  return (
    <div className="display call" data-testid="call">
      {createElement("div", { className: "display-blocks" }, ...blocks.map(({ block, title, isBeforeUnchecked }) =>
        createElement(Figure, {
          block, title: title === folder ? null : title, hasHead: false, note: isBeforeUnchecked ? client.beforeUnchecked : undefined,
        })))}
    </div>
  );
}

/** The display blocks of an agent, marked as its own and unchecked. */
function AgentBlocks({ blocks }: { blocks: Block[] }) {
  const strings = useRequestStrings();
  return (
    <section className="display" data-testid="display" aria-label={strings.agentDisplay}>
      <div className="quiet">{strings.agentDisplay}</div>
      {createElement("div", { className: "display-blocks" }, ...blocks.map((block) => createElement(Figure, { block })))}
    </section>
  );
}

/** What an agent shows, or what a client's call shows by itself. */
export default function DisplayBlocks(props: ComponentProps<typeof AgentBlocks> | ComponentProps<typeof CallBlocks>) {
  return "folder" in props ? <CallBlocks {...props} /> : <AgentBlocks {...props} />;
}
