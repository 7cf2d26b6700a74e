import { Button, Checkbox, Select, Segmented, Form } from "antd";
import { useId, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { FieldProblem } from "../api/call";
import { isEqual, isObject, type FormField, type Json, type JsonObject } from "../api/types";
import { visible, visibleJson } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { AgentText } from "../widgets/agent-text";
import { JsonValue } from "../widgets/json-value";
import { Field } from "./field";
import { FieldError } from "./field-error";
import { JsonInput } from "./json-input";
import { isUnread } from "./number-text";
import {
  nodeOf, type SchemaNode, type Schema, resolveReference, fits, initialValue, schemaOfValue, wayOf, unfinished, unfinishedNumber,
  unfinishedText, unreadText, textWithUnfinished,
} from "./schema";

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
type PartProps<K extends SchemaNode["kind"]> = NodeEditorProps & { node: SchemaNode & { kind: K } };

/** Return the error of exactly this value. */
const problemAt = ({ problems }: EditorScope, path: string) => problems.find(({ field }) => field === path)?.message;

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
function NodeEditor(props: NodeEditorProps) {
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

const isWord = /^[A-Za-z_]\w*$/;
/** Return the path of a part, as the server writes it. */
const pathTo = (path: string, name: string) => (isWord.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`);

/** The fields of an object; what its schema does not name stays and can be changed too. */
function ObjectEditor(props: PartProps<"object">) {
  const { scope, path, label, value, node, isRow, onChange } = props;
  const id = useId();
  const current: JsonObject = isObject(value) ? value : {};
  const named = new Set(node.properties.map(({ name }) => name));
  const others = Object.entries(current).filter(([name]) => !named.has(name));
  const change = (name: string) => (next: Json | undefined) => {
    const { [name]: before, ...rest } = current;
    if (next === undefined) onChange(rest);
    // A property keeps its place.
    else onChange(before === undefined ? { ...current, [name]: next } : Object.fromEntries(Object.entries(current).map(([key, one]) => [key, key === name ? next : one])));
  };
  const error = problemAt(scope, path);
  return (
    <fieldset className="schema-group" data-testid={`group-${path}`} data-invalid={Boolean(error)} aria-describedby={error ? `${id}-error` : undefined}>
      {(node.title ?? label) && <legend className={isRow ? "quiet" : undefined}>{visible(node.title ?? label)}</legend>}
      {node.help && <div className="quiet"><AgentText text={node.help} /></div>}
      {node.properties.map(({ name, schema, isRequired }) => (
        <NodeEditor key={name} scope={scope} schema={schema} path={pathTo(path, name)} label={name} value={Object.hasOwn(current, name) ? current[name] : undefined} isRequired={isRequired} onChange={change(name)} />
      ))}
      {others.map(([name, one]) => (
        <NodeEditor key={name} scope={scope} schema={schemaOfValue(one)} path={pathTo(path, name)} label={name} value={one} isRequired onChange={change(name)} />
      ))}
      <FieldError id={`${id}-error`} error={error} />
    </fieldset>
  );
}

const focusable = ":is(input, textarea, button, [tabindex='0']):not([disabled])";

/** Return the list with one item at another place. */
function moved(list: readonly Json[], from: number, to: number): Json[] {
  const rest = list.filter((_one, at) => at !== from);
  return [...rest.slice(0, to), list[from] ?? null, ...rest.slice(to)];
}

/** Keys for the rows of a list, which keep their fields while they move. */
function useRowKeys(count: number) {
  const [{ keys, next }, set] = useState({ keys: Array.from({ length: count }, (_, at) => at), next: count });
  if (keys.length !== count) {
    const more = Array.from({ length: Math.max(0, count - keys.length) }, (_, at) => next + at);
    set({ keys: [...keys.slice(0, count), ...more], next: next + more.length });
  }
  return { keys, setKeys: (changed: number[]) => set({ keys: changed, next: Math.max(next, ...changed.map((key) => key + 1)) }), fresh: next };
}

/** The rows of a list: added, removed and moved with the mouse, or with Alt and the arrow keys. */
function ListEditor(props: PartProps<"list">) {
  const { scope, path, label, value, node, onChange } = props;
  const { schema: words } = useRequestStrings();
  const id = useId();
  const rows = useRef<HTMLOListElement>(null);
  const list: readonly Json[] = Array.isArray(value) ? value : [];
  const { keys, setKeys, fresh } = useRowKeys(list.length);
  const error = problemAt(scope, path);
  const focusRow = (at: number, selector = focusable) => setTimeout(() => {
    const row = rows.current?.children[Math.max(0, at)];
    const found = row?.querySelector<HTMLElement>(selector) ?? rows.current?.parentElement?.querySelector<HTMLElement>(`[data-testid="add-row-${CSS.escape(path)}"]`);
    found?.focus();
  });
  const put = (next: Json[], nextKeys: number[]) => {
    setKeys(nextKeys);
    onChange(next);
  };
  const add = () => {
    put([...list, initialValue(scope.root, node.item) ?? emptyItem(props)], [...keys, fresh]);
    focusRow(list.length);
  };
  const remove = (at: number) => {
    put(list.filter((_one, index) => index !== at), keys.filter((_one, index) => index !== at));
    focusRow(Math.min(at, list.length - 2), "[data-action=remove]");
  };
  const move = (from: number, to: number, selector: string) => {
    if (to < 0 || to >= list.length) return;
    put(moved(list, from, to), moved(keys, from, to) as number[]);
    focusRow(to, selector);
  };
  const onKeyDown = (at: number) => (event: KeyboardEvent) => {
    if (!event.altKey || scope.disabled || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    event.stopPropagation();
    move(at, at + (event.key === "ArrowUp" ? -1 : 1), focusable);
  };
  const name = visible(node.title ?? label);
  return (
    <fieldset className="schema-group" data-testid={`list-${path}`} data-invalid={Boolean(error)} aria-describedby={error ? `${id}-error` : undefined}>
      {name && <legend>{name} <span className="quiet">{words.rowCount(list.length)}</span></legend>}
      {node.help && <div className="quiet"><AgentText text={node.help} /></div>}
      <ol className="schema-rows" ref={rows}>
        {list.map((one, at) => (
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the row only moves what is focused inside of it
          <li key={keys[at] ?? at} onKeyDown={onKeyDown(at)}>
            <div className="schema-row">
              <NodeEditor
                scope={scope} schema={node.item} path={`${path}[${at}]`} label={words.row(at + 1)} value={one} isRequired isRow
                onChange={(next) => onChange(list.map((other, index) => (index === at ? (next ?? emptyItem(props)) : other)))}
              />
              <div className="schema-row-ways">
                <Button size="small" type="text" disabled={scope.disabled || at === 0} aria-label={words.moveUp(at + 1)} aria-keyshortcuts="Alt+ArrowUp" onClick={() => move(at, at - 1, "[data-action=up]:not([disabled])")} data-action="up">↑</Button>
                <Button size="small" type="text" disabled={scope.disabled || at === list.length - 1} aria-label={words.moveDown(at + 1)} aria-keyshortcuts="Alt+ArrowDown" onClick={() => move(at, at + 1, "[data-action=down]:not([disabled])")} data-action="down">↓</Button>
                <Button size="small" type="text" disabled={scope.disabled} aria-label={words.removeRow(at + 1)} onClick={() => remove(at)} data-action="remove">✕</Button>
              </div>
            </div>
          </li>
        ))}
      </ol>
      <div className="attach-line">
        <Button size="small" type="dashed" disabled={scope.disabled} onClick={add} data-testid={`add-row-${path}`}>{words.addRow}</Button>
        {list.length > 1 && <span className="quiet">{words.rowKeys}</span>}
      </div>
      <FieldError id={`${id}-error`} error={error} />
    </fieldset>
  );
}

/** A row cannot be left out, so a text that is empty is an empty text, and anything else null until it is given. */
function emptyItem({ node }: PartProps<"list">): Json {
  return node.item.type === "string" ? "" : null;
}

const fewWays = 4;

/** The name of an alternative stands above it already. */
function untitled({ title: _title, ...schema }: Schema): Schema {
  return schema;
}

/** Alternatives: one is chosen, and its fields follow. */
function ChoiceEditor(props: PartProps<"choice">) {
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
