import { Button } from "antd";
import { createElement, Fragment, useMemo, type ReactNode } from "react";
import { useStrings } from "../strings";
import { useExpansion } from "../values/expansion";
import { visible } from "../widgets/visible";
import type { Inline } from "./inlines";
import { parseBlocks, type Block } from "./markdown";
import "./prose.css";

/** Show only the start of a very long text, which would freeze the page. */
const maxLength = 12_000;

/** Render parts as positional children, which need no keys. */
const asChildren = (parts: ReactNode[]) => createElement(Fragment, null, ...parts);

const Inlines = ({ of }: { of: Inline[] }) => asChildren(of.map(renderInline));

function renderInline(inline: Inline): ReactNode {
  if (typeof inline === "string") return inline;
  switch (inline.kind) {
    case "strong":
      return <strong><Inlines of={inline.children} /></strong>;
    case "em":
      return <em><Inlines of={inline.children} /></em>;
    case "del":
      return <del><Inlines of={inline.children} /></del>;
    case "code":
      return <code>{inline.text}</code>;
    case "link":
      return <ExternalLink href={inline.href}><Inlines of={inline.children} /></ExternalLink>;
  }
}

/** An agent's link shows its address, and its target learns nothing about this page. */
function ExternalLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">{children}</a>
      {" "}<span className="quiet">({href})</span>
    </>
  );
}

function renderBlock(block: Block): ReactNode {
  switch (block.kind) {
    case "paragraph":
      return <p><Inlines of={block.children} /></p>;
    case "heading":
      // An agent's heading must not appear in the page's own outline.
      return <p className="prose-heading"><Inlines of={block.children} /></p>;
    case "quote":
      return <blockquote><Blocks of={block.children} /></blockquote>;
    case "code":
      return <pre><code>{block.text}</code></pre>;
    case "rule":
      return <hr />;
    case "table":
      return <Table head={block.head} rows={block.rows} />;
    case "list": {
      const items = asChildren(block.items.map((item) => createElement("li", null, <Blocks of={item} />)));
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
  }
}

const cellsOf = (tag: "th" | "td", row: Inline[][]) => asChildren(row.map((cell) => createElement(tag, null, <Inlines of={cell} />)));

function Table({ head, rows }: { head: Inline[][]; rows: Inline[][][] }) {
  return (
    <table>
      <thead><tr>{cellsOf("th", head)}</tr></thead>
      <tbody>{asChildren(rows.map((row) => createElement("tr", null, cellsOf("td", row))))}</tbody>
    </table>
  );
}

const Blocks = ({ of }: { of: Block[] }) => asChildren(of.map(renderBlock));

/** An agent's text as safe Markdown: no HTML, no external content, no hidden characters. */
export function Prose({ text }: { text: string }) {
  const strings = useStrings();
  const { level, expand } = useExpansion();
  const isShortened = level === 0 && text.length > maxLength;
  const rendered = useMemo(() => parseBlocks(visible(isShortened ? text.slice(0, maxLength) : text)), [text, isShortened]);
  return (
    <div className="prose">
      <Blocks of={rendered} />
      {isShortened && <Button size="small" onClick={expand}>{strings.showAll(text.length)}</Button>}
    </div>
  );
}
