import { useId, useState } from "react";
import type { FormField, Json } from "../api/types";
import { HiddenCharacters } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { ValueDiffLine } from "./value-diff";
import { Control } from "./controls";
import { hintOf } from "./field";
import { FieldError } from "./field-error";
import { JsonInput } from "./json-input";
import { isEqual } from "./values";
import { useRequestStrings } from "./strings";

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
