import { Button, Checkbox, Select } from "antd";
import { useId, useMemo } from "react";
import type { FieldProblem } from "../api/call";
import type { FormField, Json } from "../api/types";
import { useRequestStrings } from "../strings/use-request-strings";
import { AgentText, JsonValue } from "../widgets/agent-text";
import { visible, visibleJson } from "../widgets/visible";
import { ChoiceEditor } from "./choice-editor";
import { Field, FieldError } from "./form-fields";
import { JsonInput } from "./json-input";
import { ListEditor } from "./list-editor";
import { isUnread } from "./number-text";
import { ObjectEditor } from "./object-editor";
import { nodeOf, type SchemaNode } from "./schema-node";
import type { Schema } from "./schema-parts";
import { fits, initialValue, schemaOfValue } from "./schema-value";
import { unfinished, unfinishedNumber, unfinishedText, unreadText } from "./unfinished";
import { isEqual } from "./values";

/** What all editors of one schema share. */
interface EditorScope {
  root: Schema;
  problems: FieldProblem[];
  disabled: boolean;
}

interface NodeEditorProps {
  scope: EditorScope;
  schema: Schema;
  /** The place of the value as the server names it in its errors. */
  path: string;
  label: string;
  value: Json | undefined;
  isRequired: boolean;
  /** The value is a row of a list, which has a number. */
  isRow?: boolean;
  onChange: (value: Json | undefined) => void;
}

/** The editor of one kind of node. */
export type PartProps<K extends SchemaNode["kind"]> = NodeEditorProps & { node: SchemaNode & { kind: K } };

/** Return the error of exactly this value. */
export const problemAt = ({ problems }: EditorScope, path: string) => problems.find(({ field }) => field === path)?.message;

function FieldEditor({ scope, node, path, label, value, isRequired, isRow, onChange }: PartProps<"field">) {
  const field: FormField = { ...node.control, name: path, label: node.title ?? label, help: node.help, required: isRequired, default: null };
  const text = unreadText(value);
  const change = (next: Json | undefined) => {
    if (field.type === "number" && isUnread(next)) return onChange(unfinishedNumber(next.unread));
    // An optional text that is emptied is left out; a required one is an empty text.
    onChange(next === "" && !isRequired ? undefined : next);
  };
  return <Field field={field} value={text === undefined ? value : { unread: text }} onChange={change} error={problemAt(scope, path)} disabled={scope.disabled} diff={false} compact hidesLabel={isRow ?? false} />;
}

/** A choice among values of any type. */
function OptionsEditor({ scope, node, path, label, value, isRequired, onChange }: PartProps<"options">) {
  const id = useId();
  const error = problemAt(scope, path);
  const at = value === undefined ? -1 : node.options.findIndex((one) => isEqual(one, value));
  return (
    <div data-testid={`field-${path}`} data-invalid={Boolean(error)} className="schema-part">
      <label htmlFor={id}>{visible(node.title ?? label)}</label>
      <Select
        id={id} className="wide" disabled={scope.disabled} allowClear={!isRequired} value={at >= 0 ? at : undefined}
        options={node.options.map((one, index) => ({ value: index, label: visibleJson(one) }))} onChange={(index?: number) => onChange(index === undefined ? undefined : node.options[index])}
      />
      {node.help && <div className="quiet"><AgentText text={node.help} /></div>}
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

function JsonEditor({ scope, path, label, value, onChange, why }: Omit<NodeEditorProps, "schema"> & { why: string | null }) {
  const strings = useRequestStrings();
  const id = useId();
  const error = problemAt(scope, path);
  return (
    <div data-testid={`field-${path}`} data-invalid={Boolean(error)} data-json className="schema-part">
      <label htmlFor={id}>{label && visible(label)} <span className="quiet">JSON</span></label>
      <JsonInput
        id={id} value={value} broken={unfinishedText(value)} disabled={scope.disabled} onChange={onChange} onBreak={(text) => onChange(unfinished(text))}
        aria={error ? { "aria-describedby": `${id}-error` } : {}}
      />
      <div className="quiet">{why ?? strings.schema.otherType}</div>
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

/** Return whether a value of a schema without types can be edited by the types that it has. */
const hasOwnForm = (node: SchemaNode, value: Json | undefined) =>
  node.kind === "json" && (node.why === "any" || node.why === "map") && (typeof value !== "object" || Object.keys(value ?? {}).length > 0 || unreadText(value) !== undefined) && value !== undefined;

function BodyEditor({ node, ...props }: NodeEditorProps & { node: SchemaNode }) {
  const { schema } = useRequestStrings();
  if (!fits(props.scope.root, node, props.value) || unfinishedText(props.value) !== undefined) return <JsonEditor {...props} why={node.kind === "json" ? schema.noForm[node.why] : null} />;
  switch (node.kind) {
    case "field": return <FieldEditor {...props} node={node} />;
    case "options": return <OptionsEditor {...props} node={node} />;
    case "const": return <div className="schema-part" data-testid={`field-${props.path}`}><span>{visible(node.title ?? props.label)}: <JsonValue value={node.value} /></span></div>;
    case "object": return <ObjectEditor {...props} node={node} />;
    case "list": return <ListEditor {...props} node={node} />;
    case "choice": return <ChoiceEditor {...props} node={node} />;
    case "json": return hasOwnForm(node, props.value)
      ? <NodeEditor {...props} schema={schemaOfValue(props.value ?? null)} />
      : <JsonEditor {...props} label={node.title ?? props.label} why={schema.noForm[node.why]} />;
  }
}

/** A default may be null itself. */
function withoutDefault({ default: _default, ...schema }: Schema): Schema {
  return schema;
}

/** Return whether a part stands alone until somebody adds it: a group of fields would look as if it had to be filled in. */
const isAddable = ({ kind }: SchemaNode) => kind === "object" || kind === "choice" || kind === "const" || kind === "json";

/** The editor of one value by its schema. */
export function NodeEditor(props: NodeEditorProps) {
  const { scope, schema, label, value, isRequired, onChange, path } = props;
  const strings = useRequestStrings();
  const node = useMemo(() => nodeOf(scope.root, schema), [scope.root, schema]);
  const name = visible(node.title ?? label);
  if (!isRequired && value === undefined && isAddable(node)) {
    const add = () => onChange(initialValue(scope.root, schema) ?? (node.kind === "object" ? {} : null));
    return <div><Button size="small" type="dashed" disabled={scope.disabled} onClick={add} data-testid={`add-${path}`}>{strings.schema.add(name)}</Button></div>;
  }
  const remove = !isRequired && value !== undefined && isAddable(node)
    && <Button size="small" type="text" disabled={scope.disabled} onClick={() => onChange(undefined)} data-testid={`leave-out-${path}`}>{strings.schema.leaveOut(name)}</Button>;
  const canBeNull = node.isNullable && (isRequired || value === null);
  return (
    <div className="schema-node">
      {(!canBeNull || value !== null) && <BodyEditor {...props} node={node} />}
      {canBeNull && (
        <Checkbox checked={value === null} disabled={scope.disabled} onChange={({ target }) => onChange(target.checked ? null : initialValue(scope.root, withoutDefault(schema)))} data-testid={`null-${path}`}>
          {strings.schema.noValue(name)}
        </Checkbox>
      )}
      {remove}
    </div>
  );
}
