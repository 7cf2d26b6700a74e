import { Checkbox, Radio, Select } from "antd";
import type { FormField, Json, Option } from "../api/types";
import { visible } from "../widgets/visible";
import { groupAria, type ControlProps } from "./control-props";

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

export function SelectControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
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

export function GroupControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  const common = { ...groupAria(aria), id, options: optionsOf(field), disabled };
  return field.type === "radio"
    ? <Radio.Group {...common} name={id} value={value ?? null} onChange={(e) => onChange(e.target.value as Json)} />
    : <Checkbox.Group {...common} value={listOf(value)} onChange={(selected) => onChange(selected)} />;
}
