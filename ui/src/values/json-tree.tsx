import { createElement, useMemo } from "react";
import type { Json } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { JsonValue, MarkedText } from "../widgets/agent-text";
import { visible, visibleJson } from "../base/visible";
import { clipText, clipTree, isClipped, type TreeNode } from "./clip";
import { lastLevel, MoreButton, useExpansion, type Expansion } from "./expansion";

function Leaf({ value, expansion }: { value: Json; expansion: Expansion }) {
  const strings = useRequestStrings();
  const { text, hidden } = clipText(visibleJson(value), expansion.level);
  return (
    <>
      <code className="json"><MarkedText text={text} /></code>
      {hidden && <MoreButton label={strings.values.moreOf(hidden)} onExpand={expansion.expand} />}
    </>
  );
}

const nameOf = ({ key }: TreeNode, at: number) => (key === null ? <span className="quiet">{at}</span> : <code><MarkedText text={visible(JSON.stringify(key).slice(1, -1))} /></code>);

function Branch({ node, name, expansion, isOpen }: { node: TreeNode; name: React.ReactNode; expansion: Expansion; isOpen: boolean }) {
  const { values } = useRequestStrings();
  if (node.parts === null) return <div className="tree-leaf">{name}{name && ": "}<Leaf value={node.value} expansion={expansion} /></div>;
  const size = Array.isArray(node.value) ? values.items(node.size) : values.fields(node.size);
  if (node.size === 0) return <div className="tree-leaf">{name}{name && ": "}<JsonValue value={node.value} /></div>;
  return (
    <details className="tree" open={isOpen}>
      <summary>{name} <span className="quiet">{size}</span></summary>
      {createElement("div", { className: "tree-parts" }, ...node.parts.map((part, at) => (
        createElement(Branch, { node: part, name: nameOf(part, at), expansion, isOpen })
      )))}
      {node.hidden > 0 && <MoreButton label={values.moreValues(node.hidden)} onExpand={expansion.expand} />}
    </details>
  );
}

/** JSON that can be folded. What is too large for a tree is shown whole as text at the end of its expansion. */
export function JsonTree({ value }: { value: Json }) {
  const expansion = useExpansion();
  const tree = useMemo(() => clipTree(value, expansion.level), [value, expansion.level]);
  if (expansion.level >= lastLevel && isClipped(tree)) return <JsonValue value={value} />;
  return <Branch key={expansion.level} node={tree} name={null} expansion={expansion} isOpen />;
}
