import { Form, Segmented } from "antd";
import { useState } from "react";
import type { FieldProblem } from "../api/call";
import type { Json } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { JsonInput } from "./json-input";
import { NodeEditor } from "./node-editor";
import { nodeOf } from "./schema-node";
import type { Schema } from "./schema-parts";
import { visible } from "../base/visible";
import { textWithUnfinished } from "./unfinished";

interface SchemaEditorProps {
  id: string;
  /** The label of the whole value; without one its name is only read out. */
  label?: string;
  name?: string;
  schema: Schema;
  /** The schema with the definitions; by default the schema itself. */
  root?: Schema | undefined;
  path: string;
  value: Json | undefined;
  broken: string | undefined;
  problems: FieldProblem[];
  disabled: boolean;
  onChange: (value: Json | undefined) => void;
  onBreak: (text: string) => void;
}

/** The editor of a value with parts: a form by its schema, or the same value as JSON. */
export default function SchemaEditor({ id, label = "", name = label, schema, root = schema, path, value, broken, problems, disabled, onChange, onBreak }: SchemaEditorProps) {
  const strings = useRequestStrings();
  const [isJson, setJson] = useState(broken !== undefined);
  // Parts that are not valid JSON yet stand in this copy alone.
  const [edited, setEdited] = useState(value);
  const change = (next: Json | undefined) => {
    setEdited(next);
    const text = textWithUnfinished(next);
    if (text === null) onChange(next);
    else onBreak(text);
  };
  const node = nodeOf(root, schema);
  const isForm = node.kind !== "json";
  const why = isForm || Object.keys(schema).length === 0 ? null : strings.schema.noForm[node.why];
  return (
    <fieldset className="schema-editor" aria-label={isForm && !isJson ? visible(name) : undefined} data-testid="schema-editor">
      {label && (isJson || !isForm) && <label htmlFor={id}>{label}</label>}
      {isForm && <Segmented
        size="small" disabled={disabled || broken !== undefined} value={isJson ? "json" : "form"} aria-label={strings.schema.editAs}
        options={[{ value: "form", label: <span data-testid="edit-form">{strings.schema.asForm}</span> }, { value: "json", label: <span data-testid="edit-json">JSON</span> }]}
        onChange={(format) => setJson(format === "json")}
      />}
      {isJson || !isForm
        ? <JsonInput id={id} value={value} broken={broken} disabled={disabled} aria={label ? {} : { "aria-label": visible(name) }} onChange={(next) => { setEdited(next); onChange(next); }} onBreak={onBreak} />
        : <Form component={false} layout="vertical"><NodeEditor scope={{ root, problems, disabled }} schema={schema} path={path} label="" value={edited} isRequired onChange={change} /></Form>}
      {why && <div className="quiet" data-testid="no-form">{why}</div>}
    </fieldset>
  );
}
