import { Button } from "antd";
import { useId, useRef, useState, type KeyboardEvent } from "react";
import type { Json } from "../api/types";
import { useRequestStrings } from "../strings/use-request-strings";
import { AgentText } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { FieldError } from "./form-fields";
import { NodeEditor, problemAt, type PartProps } from "./node-editor";
import { initialValue } from "./schema-value";

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
export function ListEditor(props: PartProps<"list">) {
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
