import { Button, Input, InputNumber, Switch } from "antd";
import { useId, useState } from "react";
import type { Json } from "../api/types";
import { useStrings } from "../strings";
import { HiddenIn, JsonValue } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { JsonInput } from "./json-input";
import { same } from "./values";

interface EditorProps {
  id: string;
  before: Json;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  disabled: boolean;
}

/** The type of the value before decides the editor, so that a number stays a number and a text a text. */
function Editor({ id, before, value, onChange, disabled }: EditorProps) {
  const common = { id, disabled };
  if (typeof before === "string") {
    return (
      <Input.TextArea {...common} value={String(value ?? "")} autoSize={{ minRows: 1, maxRows: 12 }}
        onChange={(event) => onChange(event.target.value)} />
    );
  }
  if (typeof before === "number") {
    return (
      <InputNumber<number> {...common} className="wide" value={typeof value === "number" ? value : null}
        status={value === undefined ? "error" : ""} onChange={(number) => onChange(number ?? undefined)} />
    );
  }
  if (typeof before === "boolean") {
    return <Switch {...common} checked={value === true} onChange={(on) => onChange(on)} />;
  }
  return <JsonInput {...common} value={value} onChange={onChange} />;
}

interface ValueEditorProps extends Omit<EditorProps, "id"> {
  name: string;
  error: string | undefined;
}

/** One value in edit: its editor, what it was and becomes, and the way back. */
export function ValueEditor({ name, before, value, onChange, disabled, error }: ValueEditorProps) {
  const strings = useStrings();
  const id = useId();
  const [resets, setResets] = useState(0);
  const reset = () => {
    onChange(before);
    setResets(resets + 1);
  };
  return (
    <div className="value-editor" data-testid={`arg-${name}`} data-invalid={Boolean(error)}>
      <label htmlFor={id} className="for-readers">{visible(name)}</label>
      <Editor key={resets} id={id} before={before} value={value} onChange={onChange} disabled={disabled} />
      {typeof value === "string" && <HiddenIn text={value} />}
      {!same(before, value) && (
        <div className="change" data-testid={`change-${name}`}>
          <del><JsonValue value={before} /></del>
          <span aria-label={strings.becomes}>→</span>
          <ins>{value === undefined ? "?" : <JsonValue value={value} />}</ins>
          <Button type="link" size="small" onClick={reset} disabled={disabled}>{strings.reset}</Button>
        </div>
      )}
      {error && <div role="alert" className="error-text" data-testid="field-error">{visible(error)}</div>}
    </div>
  );
}
