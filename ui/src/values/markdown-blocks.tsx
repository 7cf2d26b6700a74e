import MarkdownIt, { type Token } from "markdown-it";
import cjkFriendly from "markdown-it-cjk-friendly";
import { createElement, Fragment, useMemo, type ReactNode } from "react";

/** A token of the parser with what stands in it. */
export interface Node {
  token: Token;
  children: Node[];
}

/** Return the address as the browser would open it; null if it is not a web address. */
export function addressOf(target: string): string | null {
  if (!/^(https?:\/\/|mailto:)/i.test(target) || !URL.canParse(target)) return null;
  return new URL(target).href;
}

// HTML, images, named characters and definitions elsewhere stay the text that they are.
const parser = new MarkdownIt({ html: false, linkify: true }).use(cjkFriendly).disable(["image", "entity", "reference"]);
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
parser.validateLink = (target) => addressOf(target) !== null;
parser.normalizeLink = (target) => target;
parser.normalizeLinkText = (target) => target;

function tree(tokens: Token[]): Node[] {
  const root: Node[] = [];
  const open = [root];
  for (const token of tokens) {
    const node = { token, children: tree(token.children ?? []) };
    if (token.nesting < 0) open.pop();
    else open.at(-1)?.push(node);
    if (token.nesting > 0) open.push(node.children);
  }
  return root;
}

/** Return what is read of a node itself, and what follows its children. */
function wordsOf(token: Token): [string, string] {
  const { info, content } = token;
  switch (token.type) {
    case "inline":
      return ["", ""];
    case "link_open":
      // The address of a bare link is its text.
      return ["", info === "auto" ? "" : `${token.attrGet("href") ?? ""}${token.attrGet("title") ?? ""}`];
    case "fence":
    case "list_item_open":
      return [info + content, ""];
    default:
      return [content, ""];
  }
}

const words = (nodes: Node[]): string => nodes.map(({ token, children }) => wordsOf(token).join(words(children))).join("");

// With marks that are part of paths, names and sums more often than marks of style.
const read = /(?<=[\p{N}/.)])[*_]+(?=[\p{N}/.(])|_{2,}|[\p{L}\p{M}\p{N}\p{Sc}\p{So}]|\\(?!\|)/gu;
const letters = (text: string) => (text.match(read) ?? []).join("");

/** Parse Markdown; null if a letter, digit or sign of the source would not be shown. */
export function parse(text: string): Node[] | null {
  const nodes = tree(parser.parse(text, {}));
  return letters(words(nodes)) === letters(text) ? nodes : null;
}

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
