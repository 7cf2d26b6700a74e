import { Button } from "antd";
import { Suspense } from "react";
import { useStrings } from "../strings";
import { useExpansion } from "./expansion";
import { lazyWithRetry } from "../base/browser";
import { visible } from "../base/visible";
import "./prose.css";

const MarkdownBlocks = lazyWithRetry(() => import("./markdown-blocks"));

/** Show only the start of a very long text, which would freeze the page. */
const maxLength = 12_000;

/** An agent's text as safe Markdown: no HTML, no external content, no hidden characters. */
export function Prose({ text }: { text: string }) {
  const strings = useStrings();
  const { level, expand } = useExpansion();
  const isShortened = level === 0 && text.length > maxLength;
  const shown = visible(isShortened ? text.slice(0, maxLength) : text);
  return (
    <div className="prose">
      <Suspense fallback={<p>{shown}</p>}><MarkdownBlocks text={shown} /></Suspense>
      {isShortened && <Button size="small" onClick={expand}>{strings.showAll(text.length)}</Button>}
    </div>
  );
}
