import { Input } from "antd";
import { useId, useState, type AriaAttributes } from "react";
import type { FormField, Json } from "../api/types";
import { useRequestStrings } from "../strings/use-request-strings";
import { HiddenCharacters } from "../widgets/agent-text";
import { visible, visibleSource } from "../widgets/visible";
import { Control } from "./controls";
import { FieldError, hintOf } from "./form-fields";
import { ValueDiffLine } from "./value-diff";
import { isEqual } from "./values";

interface ValueEditorProps {
  name: string;
  /** The control that fits; null means a JSON editor. */
  field: FormField | null;
  before: Json;
  value: Json | undefined;
  broken: string | undefined;
  onChange: (value: Json | undefined, broken?: string) => void;
  onEnter: () => void;
  error: string | undefined;
  disabled: boolean;
}

/** The editor of one value, with its difference and a reset button. */
export function ValueEditor(props: ValueEditorProps) {
  const { name, field, before, value, broken, onChange, onEnter, error, disabled } = props;
  const strings = useRequestStrings();
  const id = useId();
  const [resets, setResets] = useState(0);
  const hint = field && hintOf(field, strings);
  const aria = {
    "aria-labelledby": `${id}-label`,
    "aria-invalid": Boolean(error) || value === undefined,
    "aria-describedby": [error && `${id}-error`, hint && `${id}-help`].filter(Boolean).join(" ") || undefined,
  };
  const reset = () => {
    onChange(before);
    setResets(resets + 1);
  };
  return (
    <div className="value-editor" data-testid={`arg-${name}`} data-invalid={Boolean(error)}>
      <label htmlFor={id} id={`${id}-label`} className="visually-hidden">{visible(name)}</label>
      {field
        ? (
          <Control
            key={resets} field={field} id={id} value={value} onChange={onChange} disabled={disabled} aria={aria}
            compact onEnter={onEnter}
          />
        )
        : (
          <JsonInput
            key={resets} id={id} value={value} broken={broken} onChange={onChange} disabled={disabled} aria={aria}
            onBreak={(text) => onChange(value, text)}
          />
        )}
      {hint && <div id={`${id}-help`} className="quiet">{hint}</div>}
      {typeof value === "string" && <HiddenCharacters text={value} />}
      {(broken !== undefined || !isEqual(before, value)) && (
        <ValueDiffLine
          name={name} before={before} after={broken === undefined ? value : undefined}
          onReset={reset} disabled={disabled}
        />
      )}
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

interface JsonInputProps {
  id: string;
  value: Json | undefined;
  /** A typed text that is not valid JSON (yet). */
  broken: string | undefined;
  onChange: (value: Json) => void;
  onBreak: (text: string) => void;
  disabled: boolean;
  aria?: AriaAttributes;
}

function errorOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  }
}

/** A JSON editor that keeps the text as typed, valid or not. */
export function JsonInput({ id, value, broken, onChange, onBreak, disabled, aria }: JsonInputProps) {
  const strings = useRequestStrings();
  const [text, setText] = useState(() => broken ?? visibleSource(value ?? null));
  const error = errorOf(text);
  const change = (input: string) => {
    setText(input);
    if (errorOf(input) === null) onChange(JSON.parse(input) as Json);
    else onBreak(input);
  };
  return (
    <>
      <Input.TextArea
        {...aria} id={id} value={text} readOnly={disabled} variant={disabled ? "filled" : "outlined"} className="mono"
        spellCheck={false} autoSize={{ minRows: 3, maxRows: 20 }} status={error ? "error" : ""}
        aria-invalid={Boolean(error)}
        aria-describedby={[aria?.["aria-describedby"], `${id}-json`].filter(Boolean).join(" ")}
        onChange={(event) => change(event.target.value)}
      />
      <div id={`${id}-json`} role="alert" className="error-text" data-testid="json-error">
        {error && strings.invalidJson(error)}
      </div>
      <HiddenCharacters text={text} />
    </>
  );
}
