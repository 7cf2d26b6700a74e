import { createElement, useMemo } from "react";
import { useRequestStrings } from "../strings/detail";
import { visible } from "../base/visible";
import { clipText, useExpansion } from "./expansion";
import { MoreButton } from "./more-button";

/** More lines than these are shown without marks, because each mark is an element of its own. */
const maxMarked = 5_000;

/** Return the element that marks a line of a patch; its own sign says what it is. */
function tagOf(line: string): "ins" | "del" | "span" {
  if (/^\+(?!\+\+ )/.test(line)) return "ins";
  return /^-(?!-- )/.test(line) ? "del" : "span";
}

/** A unified diff, line by line and unchanged. */
export function PatchView({ text }: { text: string }) {
  const strings = useRequestStrings();
  const { level, expand } = useExpansion();
  const { text: shown, hidden } = useMemo(() => clipText(text, level), [text, level]);
  const lines = shown.replace(/\n$/, "").split("\n");
  const marked = lines.slice(0, maxMarked).map((line) => createElement(tagOf(line), { className: "display-line" }, visible(line) || " "));
  return (
    <>
      {createElement("div", { className: "display-code" }, ...marked, visible(lines.slice(maxMarked).join("\n")))}
      {hidden && <MoreButton label={strings.values.moreOf(hidden)} onExpand={expand} />}
    </>
  );
}
