import { DatePicker, Input } from "antd";
import dayjs from "dayjs";
import { visible } from "../widgets/visible";
import type { ControlProps } from "./control-props";

const day = "YYYY-MM-DD";
const moment = "YYYY-MM-DD HH:mm:ss";
const withOffset = /T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** By which clock a moment is chosen here: the place, and what its clock is ahead of UTC then. */
function zoneAt(at: dayjs.Dayjs): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return `UTC${at.format("Z")}${timeZone ? ` · ${timeZone}` : ""}`;
}

/** A moment, chosen by this browser's clock and sent with its offset. */
function MomentControl({ field, id, value, onChange, disabled, aria }: ControlProps) {
  const text = typeof value === "string" ? value : "";
  // A time without its offset is another moment for each reader: it stays text.
  if (text && !withOffset.test(text)) {
    return <Input {...aria} id={id} disabled={disabled} value={text} onChange={(event) => onChange(event.target.value || undefined)} />;
  }
  const chosen = text ? dayjs(text) : null;
  return (
    <div className="moment">
      <DatePicker
        {...aria} id={id} disabled={disabled} className="wide" format={moment} showTime value={chosen}
        placeholder={visible(field.placeholder ?? "") || moment}
        onChange={(at) => onChange(at ? at.format("YYYY-MM-DDTHH:mm:ssZ") : undefined)}
      />
      <span className="quiet" data-testid="zone">{zoneAt(chosen ?? dayjs())}</span>
    </div>
  );
}

/** A calendar day, kept as the text YYYY-MM-DD: a day has no time zone. */
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
  return props.field.type === "datetime" ? <MomentControl {...props} /> : <DayControl {...props} />;
}
