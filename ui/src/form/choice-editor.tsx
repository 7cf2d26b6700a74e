import { Segmented, Select } from "antd";
import { useId, useState } from "react";
import { AgentText } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { NodeEditor, type PartProps } from "./node-editor";
import { resolveReference, type Schema } from "./schema-parts";
import { initialValue, wayOf } from "./schema-value";

const fewWays = 4;

/** The name of an alternative stands above it already. */
function untitled({ title: _title, ...schema }: Schema): Schema {
  return schema;
}

/** Alternatives: one is chosen, and its fields follow. */
export function ChoiceEditor(props: PartProps<"choice">) {
  const { scope, label, value, node, onChange, path } = props;
  const id = useId();
  const [chosen, setChosen] = useState(() => Math.max(0, wayOf(scope.root, node, value)));
  const options = node.ways.map(({ title }, at) => ({ value: at, label: visible(title) }));
  const select = (at: number) => {
    setChosen(at);
    const way = node.ways[at];
    onChange((way && initialValue(scope.root, way.schema)) ?? undefined);
  };
  const way = node.ways[chosen];
  const isShort = options.length <= fewWays && options.every((one) => one.label.length <= 16);
  const common = { disabled: scope.disabled, options, value: chosen };
  return (
    <div className="schema-group schema-choice" data-testid={`choice-${path}`}>
      <span id={id} className="schema-title">{visible(node.title ?? label)}</span>
      {isShort ? <Segmented {...common} aria-labelledby={id} onChange={select} /> : <Select {...common} className="wide" aria-labelledby={id} onChange={select} />}
      {node.help && <div className="quiet"><AgentText text={node.help} /></div>}
      {way && <NodeEditor {...props} key={chosen} schema={untitled(resolveReference(scope.root, way.schema))} label={way.title} isRequired isRow />}
    </div>
  );
}
