import { DatePicker } from "antd";
import dayjs from "dayjs";
import { visible } from "../widgets/visible";
import type { ControlProps } from "./control-props";

const format = "YYYY-MM-DD";

/** A calendar day, kept as the text YYYY-MM-DD: a day has no time zone. */
export default function DateControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  return (
    <DatePicker
      {...aria} id={id} disabled={disabled} className="wide" format={format}
      value={typeof value === "string" && value ? dayjs(value) : null}
      placeholder={visible(field.placeholder ?? "") || format}
      onChange={(day) => onChange(day ? day.format(format) : undefined)}
    />
  );
}
