import { createElement, Fragment, useMemo, type ReactNode } from "react";
import { refractor } from "refractor/core";
import bash from "refractor/bash";
import json from "refractor/json";
import markup from "refractor/markup";
import python from "refractor/python";
import sql from "refractor/sql";
import typescript from "refractor/typescript";
import yaml from "refractor/yaml";
import { useRequestStrings } from "../strings/detail";
import { MarkedText } from "../widgets/marked-text";
import { visible } from "../base/visible";
import { clipText, useExpansion } from "./expansion";
import { MoreButton } from "./more-button";

for (const syntax of [bash, json, markup, python, sql, typescript, yaml]) refractor.register(syntax);

/** Longer code is shown without colors: of 10,000 characters that somebody chose, the patterns of a language took six seconds. */
const maxHighlighted = 2_500;

type Node = ReturnType<typeof refractor.highlight>["children"][number];

function render(node: Node): ReactNode {
  if (node.type === "text") return <MarkedText text={node.value} />;
  if (node.type !== "element") return null;
  const names = node.properties.className;
  return createElement("span", { className: Array.isArray(names) ? names.join(" ") : undefined }, ...node.children.map((child) => render(child as Node)));
}

/** Return code in colors, as text and elements; every character of it is text. */
function highlighted(text: string, language: string): ReactNode {
  if (!refractor.registered(language) || text.length > maxHighlighted) return <MarkedText text={text} />;
  return createElement(Fragment, null, ...refractor.highlight(text, language).children.map(render));
}

/** Code, or any text, as it is; what does not fit is cut with a cue. */
export function CodeView({ text, language = "" }: { text: string; language?: string | undefined }) {
  const strings = useRequestStrings();
  const { level, expand } = useExpansion();
  const { text: shown, hidden } = useMemo(() => clipText(text, level), [text, level]);
  const content = useMemo(() => highlighted(visible(shown), language.toLowerCase()), [shown, language]);
  return (
    <>
      <pre className={language === "" ? "display-code display-text" : "display-code"}>{content}</pre>
      {hidden && <MoreButton label={strings.values.moreOf(hidden)} onExpand={expand} />}
    </>
  );
}
