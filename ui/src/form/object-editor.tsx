import { useId } from "react";
import type { Json, JsonObject } from "../api/types";
import { AgentText } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { FieldError } from "./form-fields";
import { NodeEditor, problemAt, type PartProps } from "./node-editor";
import { schemaOfValue } from "./schema-value";
import { isObject } from "./values";

const isWord = /^[A-Za-z_]\w*$/;
/** Return the path of a part, as the server writes it. */
const pathTo = (path: string, name: string) => (isWord.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`);

/** The fields of an object; what its schema does not name stays and can be changed too. */
export function ObjectEditor(props: PartProps<"object">) {
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
