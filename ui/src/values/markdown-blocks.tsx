import { createElement, Fragment, useMemo, type ReactNode } from "react";
import { addressOf, parse, type Node } from "./markdown";

interface MarkdownBlocksProps {
  text: string;
}

const tags = new Set(["blockquote", "ul", "ol", "hr", "table", "thead", "tbody", "tr", "th", "td", "strong", "em", "s"]);

/** Render nodes as positional children, which need no keys. */
const rendered = (nodes: Node[]) => createElement(Fragment, null, ...nodes.map(renderNode));

/** An agent's link shows its address, and its target learns nothing about this page. */
function renderLink({ token, children }: Node): ReactNode {
  const target = String(token.attrGet("href"));
  const resolved = addressOf(target) ?? undefined;
  const isItsAddress = token.info === "auto" && [target, `${target}/`].includes(resolved ?? "");
  const href = isItsAddress ? target : resolved;
  const link = <a href={href} target="_blank" rel="noopener noreferrer nofollow">{rendered(children)}</a>;
  if (isItsAddress) return link;
  const title = token.attrGet("title");
  return <>{link} <span className="quiet">({href}{title && ` “${title}”`})</span></>;
}

function renderNode(node: Node): ReactNode {
  const { token, children } = node;
  switch (token.type) {
    case "code_inline":
      return <code>{token.content}</code>;
    case "fence":
    case "code_block":
      return (
        <div>
          {token.info && <div className="quiet">{token.info}</div>}
          <pre><code>{token.content.replace(/\n$/, "")}</code></pre>
        </div>
      );
    case "softbreak":
    case "hardbreak":
      return "\n";
    case "link_open":
      return renderLink(node);
    case "heading_open":
      // An agent's heading must not appear in the page's own outline.
      return <p className="prose-heading">{rendered(children)}</p>;
    case "paragraph_open":
      return <p>{rendered(children)}</p>;
    case "list_item_open":
      return <li value={token.info ? Number(token.info) : undefined}>{rendered(children)}</li>;
    default:
      if (!tags.has(token.tag)) return token.content && token.type !== "inline" ? token.content : rendered(children);
      return token.tag === "hr" ? <hr /> : createElement(token.tag, null, rendered(children));
  }
}

/** Markdown of an agent: no HTML, no external content, and nothing that is not shown. */
export default function MarkdownBlocks({ text }: MarkdownBlocksProps) {
  const nodes = useMemo(() => parse(text), [text]);
  return nodes ? rendered(nodes) : <p>{text}</p>;
}
