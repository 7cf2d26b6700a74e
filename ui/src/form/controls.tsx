import { Checkbox, Input, Radio, Select, Skeleton, Slider, Switch } from "antd";
import { Suspense, type ChangeEvent } from "react";
import type { FormField, Json, Option } from "../api/types";
import { lazyWithRetry } from "../base/browser";
import { visible } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { NumberInput } from "./number-input";
import { groupAria, type ControlProps } from "./control-props";

const DateControl = lazyWithRetry(() => import("./date-control"));

const AttachmentControl = lazyWithRetry(() => import("./attachments"));

export const textOf = (value: Json | undefined) => (typeof value === "string" ? value : "");

const numberOf = (value: Json | undefined) => (typeof value === "number" ? value : null);

function TextControl({ field, id, value, onChange, disabled, aria, compact = false }: ControlProps) {
  // The counter only warns; a hard limit would cut a pasted text without a message.
  const count = field.max_length ? { show: true, max: field.max_length } : {};
  const common = {
    // Read-only and not disabled, so that the text can still be selected and copied.
    ...aria, id, readOnly: disabled, variant: disabled ? "filled" as const : "outlined" as const,
    count, value: textOf(value), placeholder: visible(field.placeholder ?? ""), autoComplete: "off",
  };
  const change = (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onChange(event.target.value);
  return field.type === "textarea"
    ? <Input.TextArea {...common} autoSize={{ minRows: compact ? 1 : 3, maxRows: 12 }} onChange={change} />
    : <Input {...common} onChange={change} />;
}

function NumberControl({ field, disabled, aria, ...input }: ControlProps) {
  // No bounds: the server names the rule that a number breaks.
  return <NumberInput {...input} step={field.step ?? 1} disabled={disabled} aria={aria} placeholder={visible(field.placeholder ?? "")} />;
}

function SliderControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  const strings = useRequestStrings();
  const [min, max] = [Number(field.min ?? 0), Number(field.max ?? 100)];
  const hasValue = numberOf(value) !== null;
  return (
    <fieldset className="slider" {...groupAria(aria)}>
      <Slider
        id={id} disabled={disabled} min={min} max={max} step={field.step ?? 1} value={numberOf(value) ?? min}
        onChange={(number) => onChange(number)}
        // An unset slider stands at its minimum; choosing that value does not count as a change in antd.
        onChangeComplete={(number) => !hasValue && onChange(number)}
        ariaLabelledByForHandle={aria["aria-labelledby"] ?? ""} ariaRequired={Boolean(field.required)}
        ariaValueTextFormatterForHandle={(number) => (hasValue ? String(number) : strings.notSet)}
      />
      <output htmlFor={id}>{numberOf(value) ?? strings.notSet}</output>
    </fieldset>
  );
}

function BooleanControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  const strings = useRequestStrings();
  if (typeof field.default === "boolean") {
    return (
      <Switch {...groupAria(aria)} id={id} disabled={disabled} checked={value === true} onChange={(on) => onChange(on)} />
    );
  }
  // An untouched switch looks like "no", so a boolean without a default shows both answers.
  return (
    <Radio.Group
      {...groupAria(aria)} id={id} name={id} disabled={disabled} value={value ?? null}
      onChange={(e) => onChange(e.target.value as boolean)}
    >
      <Radio value={true}>{strings.yes}</Radio>
      <Radio value={false}>{strings.no}</Radio>
    </Radio.Group>
  );
}

/** The control for a field's type; its value is exactly the value that is sent. */
export function Control(props: ControlProps) {
  switch (props.field.type) {
    case "text":
    case "textarea":
      return <TextControl {...props} />;
    case "select":
    case "multiselect":
      return <SelectControl {...props} />;
    case "radio":
    case "checkbox":
      return <GroupControl {...props} />;
    case "number":
      return <NumberControl {...props} />;
    case "slider":
      return <SliderControl {...props} />;
    case "boolean":
      return <BooleanControl {...props} />;
    case "date":
    case "datetime":
      return <Suspense fallback={<Skeleton.Input active />}><DateControl {...props} /></Suspense>;
    case "attachment":
      return <Suspense fallback={<Skeleton.Button active />}><AttachmentControl {...props} /></Suspense>;
  }
}

const listOf = (value: Json | undefined) => (Array.isArray(value) ? (value as Option["value"][]) : []);

const optionsOf = (field: FormField) =>
  (field.options ?? []).map(({ value, label }) => ({ value, label: visible(label || String(value)) }));

/** An open list uses Tab to choose an option, so leaving the field would undo the last choice. */
function releaseTabKey(field: HTMLElement | null) {
  const stopTab = (event: KeyboardEvent) => {
    if (event.key === "Tab") event.stopPropagation();
  };
  field?.addEventListener("keydown", stopTab, { capture: true });
  return () => field?.removeEventListener("keydown", stopTab, { capture: true });
}

function SelectControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  const options = optionsOf(field);
  const common = {
    ...aria, id, disabled, options, className: "wide",
    placeholder: visible(field.placeholder ?? "") || undefined,
    showSearch: { optionFilterProp: "label" },
    allowClear: !field.required,
  };
  if (field.type === "multiselect") {
    return (
      <div ref={releaseTabKey}>
        <Select mode="multiple" {...common} value={listOf(value)} onChange={(selected) => onChange(selected)} />
      </div>
    );
  }
  const selected = (value ?? undefined) as Option["value"] | undefined;
  return <Select {...common} value={selected} onChange={(option) => onChange(option)} />;
}

function GroupControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  const common = { ...groupAria(aria), id, options: optionsOf(field), disabled };
  return field.type === "radio"
    ? <Radio.Group {...common} name={id} value={value ?? null} onChange={(e) => onChange(e.target.value as Json)} />
    : <Checkbox.Group {...common} value={listOf(value)} onChange={(selected) => onChange(selected)} />;
}
