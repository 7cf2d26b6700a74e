import { Checkbox, Input, InputNumber, Radio, Select, Skeleton, Slider, Switch } from "antd";
import { lazy, Suspense, type AriaAttributes } from "react";
import type { FormField, Json, Option } from "../api/types";
import { useStrings } from "../strings";
import { visible } from "../widgets/visible";

export interface ControlProps {
  field: FormField;
  id: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  disabled: boolean;
  aria: AriaAttributes;
}

const DateControl = lazy(() => import("./date-control"));

const textOf = (value: Json | undefined) => (typeof value === "string" ? value : "");
const numberOf = (value: Json | undefined) => (typeof value === "number" ? value : null);
const listOf = (value: Json | undefined) => (Array.isArray(value) ? (value as Option["value"][]) : []);
const optionsOf = (field: FormField) =>
  (field.options ?? []).map(({ value, label }) => ({ value, label: visible(label || String(value)) }));

function TextControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  // The count warns; a hard limit would cut a pasted text short without a word.
  const count = field.max_length ? { show: true, max: field.max_length } : {};
  const common = {
    ...aria, id, disabled, count, value: textOf(value), placeholder: visible(field.placeholder ?? ""), autoComplete: "off",
  };
  return field.type === "textarea"
    ? <Input.TextArea {...common} autoSize={{ minRows: 3, maxRows: 12 }} onChange={(e) => onChange(e.target.value)} />
    : <Input {...common} onChange={(e) => onChange(e.target.value)} />;
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
    return <Select mode="multiple" {...common} value={listOf(value)} onChange={(chosen) => onChange(chosen)} />;
  }
  return <Select {...common} value={(value ?? undefined) as Option["value"] | undefined} onChange={(chosen) => onChange(chosen)} />;
}

function GroupControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  const common = { options: optionsOf(field), disabled };
  const radio = field.type === "radio";
  return (
    <div id={id} role={radio ? "radiogroup" : "group"} aria-labelledby={`${id}-label`} aria-describedby={aria["aria-describedby"]}>
      {radio
        ? <Radio.Group {...common} name={id} value={value ?? null} onChange={(e) => onChange(e.target.value as Json)} />
        : <Checkbox.Group {...common} value={listOf(value)} onChange={(chosen) => onChange(chosen)} />}
    </div>
  );
}

function NumberControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  // No min and max here: antd would replace a number out of range by another one that nobody typed.
  return (
    <InputNumber<number>
      {...aria} id={id} disabled={disabled} className="wide" value={numberOf(value)} step={field.step ?? 1}
      placeholder={visible(field.placeholder ?? "")} onChange={(number) => onChange(number ?? undefined)}
    />
  );
}

function SliderControl({ field, id, value, onChange, disabled }: ControlProps) {
  const strings = useStrings();
  const [min, max] = [Number(field.min ?? 0), Number(field.max ?? 100)];
  return (
    <div className="slider">
      <Slider
        id={id} disabled={disabled} min={min} max={max} step={field.step ?? 1} value={numberOf(value) ?? min}
        onChange={(number) => onChange(number)} ariaLabelledByForHandle={`${id}-label`}
      />
      <output htmlFor={id}>{numberOf(value) ?? strings.notSet}</output>
    </div>
  );
}

function BooleanControl(props: ControlProps) {
  const { field, id, value, onChange, disabled, aria } = props;
  const strings = useStrings();
  if (typeof field.default === "boolean") {
    return <Switch {...aria} id={id} disabled={disabled} checked={value === true} onChange={(on) => onChange(on)} />;
  }
  // A switch that nobody touched looks like a "no": without a default the two answers are drawn apart.
  return (
    <div id={id} role="radiogroup" aria-labelledby={`${id}-label`} aria-describedby={aria["aria-describedby"]}>
      <Radio.Group name={id} disabled={disabled} value={value ?? null} onChange={(e) => onChange(e.target.value as boolean)}>
        <Radio value={true}>{strings.yes}</Radio>
        <Radio value={false}>{strings.no}</Radio>
      </Radio.Group>
    </div>
  );
}

/** The control for a field's type; its value is exactly what will be sent. */
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
      return <Suspense fallback={<Skeleton.Input active />}><DateControl {...props} /></Suspense>;
  }
}
