import { Form } from "antd";
import { useId } from "react";
import { isEqual, type FormField, type Json } from "../api/types";
import { visible } from "../base/visible";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { HiddenCharacters } from "../widgets/hidden-characters";
import { Control } from "./controls";
import { isUnread } from "./number-text";
import { ValueDiffLine } from "./value-diff-line";

interface FieldProps {
  field: FormField;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  error: string | undefined;
  disabled: boolean;
  /** Show the difference from the prefilled value. */
  diff: boolean;
  /** Begin a text area with one line. */
  compact?: boolean;
  /** Only read the label out, as that of a row that has a number. */
  hidesLabel?: boolean;
}

function rangeOf(field: FormField): [string | null, string | null] | null {
  if (field.type !== "number" && field.type !== "slider" && field.type !== "date" && field.type !== "datetime") return null;
  const [min, max] = [field.min ?? null, field.max ?? null];
  return min === null && max === null ? null : [min === null ? null : String(min), max === null ? null : String(max)];
}

/** Return the hint of a field: its help text and its bounds. */
export function hintOf(field: FormField, strings: RequestStrings): string {
  const range = rangeOf(field);
  return [field.help ? visible(field.help) : null, range && strings.range(...range)].filter(Boolean).join(" · ");
}

/** Return a function that formats a value as the form shows it; undefined means JSON. */
export function valueFormatter(field: FormField, strings: RequestStrings): ((value: Json) => string) | undefined {
  const options = field.options ?? [];
  const labels = new Map<Json, string>(options.map(({ value, label }) => [value, label || String(value)]));
  if (field.type === "boolean") return (value) => (value === true ? strings.yes : strings.no);
  if (labels.size === 0) return undefined;
  return (value) => (Array.isArray(value) ? value : [value]).map((one) => labels.get(one) ?? String(one)).join(", ");
}

/** Return whether a label can name the control; groups are named by an ARIA attribute. */
const isLabelled = (field: FormField) => field.type === "boolean"
  ? typeof field.default === "boolean"
  : !["radio", "checkbox", "slider"].includes(field.type);

/** One field of a form: label, control, help and error, linked to each other. */
export function Field({ field, value, onChange, error, disabled, diff, compact = false, hidesLabel = false }: FieldProps) {
  const strings = useRequestStrings();
  const id = useId();
  const hint = hintOf(field, strings);
  const before = field.default ?? undefined;
  const isChanged = diff && before !== undefined && !isEqual(before, value);
  return (
    <div data-testid={`field-${field.name}`} data-type={field.type} data-invalid={Boolean(error)}>
      {hidesLabel && <span id={`${id}-label`} className="visually-hidden">{visible(field.label || field.name)}</span>}
      <Form.Item
        {...(isLabelled(field) && { htmlFor: id })}
        label={hidesLabel ? null : <span id={`${id}-label`}>{visible(field.label || field.name)}</span>}
        required={Boolean(field.required)}
        validateStatus={error ? "error" : ""}
        help={error && <span id={`${id}-error`} role="alert" data-testid="field-error">{visible(error)}</span>}
        extra={(hint || isChanged) && (
          <>
            {hint && <div id={`${id}-help`}>{hint}</div>}
            {isChanged && (
              <ValueDiffLine
                name={field.name} before={before} after={isUnread(value) ? undefined : value} format={valueFormatter(field, strings)} disabled={disabled}
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
          compact={compact}
          aria={{
            // The star in the label repeats aria-required.
            "aria-labelledby": `${id}-label`,
            "aria-invalid": Boolean(error),
            "aria-required": Boolean(field.required),
            "aria-describedby": [error && `${id}-error`, hint && `${id}-help`].filter(Boolean).join(" ") || undefined,
          }}
        />
      </Form.Item>
      {typeof value === "string" && <HiddenCharacters text={value} />}
    </div>
  );
}
