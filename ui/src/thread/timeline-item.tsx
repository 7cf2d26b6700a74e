import { Alert, Divider } from "antd";
import { memo } from "react";
import { FailureReason } from "./failure-reason";
import { RequestDetail } from "../request/request-detail";
import { useStrings } from "../strings";
import { visible } from "../base/visible";
import { Message } from "./message";
import type { Item, ItemOf } from "./stream";
import { CustomEvent, ToolCall } from "./tool";
import { dayAndTime, timeOfDay, useDuration } from "../widgets/time-format";

function RunDivider({ label, at }: { label: string; at: number | null }) {
  const { language } = useStrings();
  const when = at === null ? "" : ` · ${dayAndTime(at, language)}`;
  return <Divider plain titlePlacement="start" size="small" data-testid="run-divider">{label}{when}</Divider>;
}

function End({ item }: { item: ItemOf<"end"> }) {
  const strings = useStrings();
  const duration = useDuration();
  const label = item.cancelled ? strings.runCancelled : strings.runEnded;
  const elapsed = item.at !== null && item.since !== null ? strings.afterDuration(duration(item.at - item.since)) : "";
  return <RunDivider label={[label, elapsed].filter(Boolean).join(" ")} at={item.at} />;
}

function Pause({ item }: { item: ItemOf<"pause"> }) {
  return item.requests.map((id) => (
    <section key={id} className="pause" data-testid="pause"><RequestDetail id={id} isInThread /></section>
  ));
}

export function ItemBody({ item }: { item: Item }) {
  const strings = useStrings();
  switch (item.kind) {
    case "message":
      return <Message item={item} />;
    case "tool":
      return <ToolCall item={item} />;
    case "custom":
      return <CustomEvent item={item} />;
    case "pause":
      return <Pause item={item} />;
    case "step":
      return (
        <div data-testid="step">
          <span className="quiet">{strings.step}</span> {visible(item.name)}{item.open && <span className="quiet"> {strings.toolRunning}</span>}
        </div>
      );
    case "run":
      return <RunDivider label={strings.runStartReasons[item.reason]} at={item.at} />;
    case "end":
      return <End item={item} />;
    case "error":
      return (
        <Alert type="error" showIcon title={strings.runFailed} description={<FailureReason why={item.message} />} data-testid="run-error" />
      );
  }
}

/** Kinds that show their own time. */
const kindsWithTime = new Set<Item["kind"]>(["run", "end", "pause"]);

/** One item of the timeline; its time is visible only if it differs from the previous one. */
export const TimelineItem = memo(function ThreadItem({ item, before }: { item: Item; before: number | null }) {
  const { language } = useStrings();
  const time = item.at === null || kindsWithTime.has(item.kind) ? null : timeOfDay(item.at, language);
  const isNew = before === null || time !== timeOfDay(before, language);
  return (
    <div className={`thread-item of-${item.kind}`} data-kind={item.kind}>
      {item.at !== null && time !== null && (
        <time className={isNew ? "thread-at" : "visually-hidden"} dateTime={new Date(item.at).toISOString()} title={dayAndTime(item.at, language)}>
          {time}
        </time>
      )}
      <div className="thread-body"><ItemBody item={item} /></div>
    </div>
  );
});
