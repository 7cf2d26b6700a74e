import { Form } from "antd";
import { useId } from "react";
import type { FormField, Json } from "../api/types";
import { useStrings } from "../strings";
import { HiddenIn } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { Control } from "./controls";

interface FieldProps {
  field: FormField;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  error: string | undefined;
  disabled: boolean;
}

function rangeOf(field: FormField): [string | null, string | null] | null {
  if (field.type !== "number" && field.type !== "slider" && field.type !== "date") return null;
  const [min, max] = [field.min ?? null, field.max ?? null];
  return min === null && max === null ? null : [min === null ? null : String(min), max === null ? null : String(max)];
}

/** One field of a form: label, control, help and the server's word about it, all bound to each other. */
export function Field({ field, value, onChange, error, disabled }: FieldProps) {
  const strings = useStrings();
  const id = useId();
  const range = rangeOf(field);
  const help = [field.help ? visible(field.help) : null, range && strings.range(...range)].filter(Boolean).join(" · ");
  return (
    <div data-testid={`field-${field.name}`} data-type={field.type} data-invalid={Boolean(error)}>
      <Form.Item
        htmlFor={id}
        label={<span id={`${id}-label`}>{visible(field.label || field.name)}</span>}
        required={Boolean(field.required)}
        validateStatus={error ? "error" : ""}
        help={error && <span id={`${id}-error`} role="alert" data-testid="field-error">{visible(error)}</span>}
        extra={help && <span id={`${id}-help`}>{help}</span>}
      >
        <Control
          field={field}
          id={id}
          value={value}
          onChange={onChange}
          disabled={disabled}
          aria={{
            "aria-invalid": Boolean(error),
            "aria-required": Boolean(field.required),
            "aria-describedby": [error && `${id}-error`, help && `${id}-help`].filter(Boolean).join(" ") || undefined,
          }}
        />
      </Form.Item>
      {typeof value === "string" && <HiddenIn text={value} />}
    </div>
  );
}
