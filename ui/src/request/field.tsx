import { Form } from "antd";
import { useId } from "react";
import type { FormField, Json } from "../api/types";
import { HiddenIn } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { ChangeLine } from "./change";
import { Control } from "./controls";
import { same } from "./values";
import { useWords, type Words } from "./words";

interface FieldProps {
  field: FormField;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  error: string | undefined;
  disabled: boolean;
  /** Show what became of the prefilled value. */
  diff: boolean;
}

function rangeOf(field: FormField): [string | null, string | null] | null {
  if (field.type !== "number" && field.type !== "slider" && field.type !== "date" && field.type !== "datetime") return null;
  const [min, max] = [field.min ?? null, field.max ?? null];
  return min === null && max === null ? null : [min === null ? null : String(min), max === null ? null : String(max)];
}

/** What helps to fill a field in: the words of who asks, and its bounds. */
export function hintOf(field: FormField, strings: Words): string {
  const range = rangeOf(field);
  return [field.help ? visible(field.help) : null, range && strings.range(...range)].filter(Boolean).join(" · ");
}

/** A value as the form shows it: an option by its label, a yes as a yes. */
export function written(field: FormField, strings: Words): ((value: Json) => string) | undefined {
  const options = field.options ?? [];
  const labels = new Map<Json, string>(options.map(({ value, label }) => [value, label || String(value)]));
  if (field.type === "boolean") return (value) => (value === true ? strings.yes : strings.no);
  if (labels.size === 0) return undefined;
  return (value) => (Array.isArray(value) ? value : [value]).map((one) => labels.get(one) ?? String(one)).join(", ");
}

/** What has one element that a label can name; the others are groups, named by their own attribute. */
const isLabelled = (field: FormField) => field.type === "boolean"
  ? typeof field.default === "boolean"
  : !["radio", "checkbox", "slider"].includes(field.type);

/** One field of a form: label, control, help and the server's word about it, all bound to each other. */
export function Field({ field, value, onChange, error, disabled, diff }: FieldProps) {
  const strings = useWords();
  const id = useId();
  const hint = hintOf(field, strings);
  const before = field.default ?? undefined;
  const isChanged = diff && before !== undefined && !same(before, value);
  return (
    <div data-testid={`field-${field.name}`} data-type={field.type} data-invalid={Boolean(error)}>
      <Form.Item
        {...(isLabelled(field) && { htmlFor: id })}
        label={<span id={`${id}-label`}>{visible(field.label || field.name)}</span>}
        required={Boolean(field.required)}
        validateStatus={error ? "error" : ""}
        help={error && <span id={`${id}-error`} role="alert" data-testid="field-error">{visible(error)}</span>}
        extra={(hint || isChanged) && (
          <>
            {hint && <div id={`${id}-help`}>{hint}</div>}
            {isChanged && (
              <ChangeLine
                name={field.name} before={before} after={value} write={written(field, strings)} disabled={disabled}
                onReset={() => onChange(before)}
              />
            )}
          </>
        )}
      >
        <Control
          field={field}
          id={id}
          value={value}
          onChange={onChange}
          disabled={disabled}
          aria={{
            // The label's star says what aria-required says already.
            "aria-labelledby": `${id}-label`,
            "aria-invalid": Boolean(error),
            "aria-required": Boolean(field.required),
            "aria-describedby": [error && `${id}-error`, hint && `${id}-help`].filter(Boolean).join(" ") || undefined,
          }}
        />
      </Form.Item>
      {typeof value === "string" && <HiddenIn text={value} />}
    </div>
  );
}
