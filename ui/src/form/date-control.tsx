import { DatePicker, Input } from "antd";
import dayjs from "dayjs";
import { visible } from "../base/visible";
import type { ControlProps } from "./control-props";

const day = "YYYY-MM-DD";
const moment = "YYYY-MM-DD HH:mm:ss";
const withOffset = /T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Return the time zone of this browser and its UTC offset at that time. */
function timeZoneLabel(at: dayjs.Dayjs): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return `UTC${at.format("Z")}${timeZone ? ` · ${timeZone}` : ""}`;
}

/** A date and time in this browser's time zone, sent with its offset. */
function DateTimeControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  const text = typeof value === "string" ? value : "";
  // A time without an offset is ambiguous, so it stays a text.
  if (text && !withOffset.test(text)) {
    return <Input {...aria} id={id} disabled={disabled} value={text} onChange={(event) => onChange(event.target.value || undefined)} />;
  }
  const date = text ? dayjs(text) : null;
  return (
    <div className="moment">
      <DatePicker
        {...aria} id={id} disabled={disabled} className="wide" format={moment} showTime value={date}
        placeholder={visible(field.placeholder ?? "") || moment}
        onChange={(at) => onChange(at ? at.format("YYYY-MM-DDTHH:mm:ssZ") : undefined)}
      />
      <span className="quiet" data-testid="zone">{timeZoneLabel(date ?? dayjs())}</span>
    </div>
  );
}

/** A calendar day as the text YYYY-MM-DD; a day has no time zone. */
function DayControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  return (
    <DatePicker
      {...aria} id={id} disabled={disabled} className="wide" format={day}
      value={typeof value === "string" && value ? dayjs(value) : null}
      placeholder={visible(field.placeholder ?? "") || day}
      onChange={(at) => onChange(at ? at.format(day) : undefined)}
    />
  );
}

export default function DateControl(props: ControlProps) {
  return props.field.type === "datetime" ? <DateTimeControl {...props} /> : <DayControl {...props} />;
}
