import { Alert, Divider } from "antd";
import { memo } from "react";
import { Why } from "../operations/why";
import { RequestDetail } from "../request/request-detail";
import { useStrings } from "../strings";
import { visible } from "../widgets/visible";
import { Message } from "./message";
import type { Item, ItemOf } from "./stream";
import { Custom, Tool } from "./tool";
import { dayAndTime, timeOfDay, useDuration } from "./when";

function Border({ words, at }: { words: string; at: number | null }) {
  const { language } = useStrings();
  const when = at === null ? "" : ` · ${dayAndTime(at, language)}`;
  return <Divider plain titlePlacement="start" size="small" data-testid="border">{words}{when}</Divider>;
}

function End({ item }: { item: ItemOf<"end"> }) {
  const strings = useStrings();
  const duration = useDuration();
  const words = item.cancelled ? strings.runCancelled : strings.runEnded;
  const took = item.at !== null && item.since !== null ? strings.after(duration(item.at - item.since)) : "";
  return <Border words={[words, took].filter(Boolean).join(" ")} at={item.at} />;
}

function Pause({ item }: { item: ItemOf<"pause"> }) {
  return item.requests.map((id) => (
    <section key={id} className="pause" data-testid="pause"><RequestDetail id={id} isInThread /></section>
  ));
}

export function Body({ item }: { item: Item }) {
  const strings = useStrings();
  switch (item.kind) {
    case "message":
      return <Message item={item} />;
    case "tool":
      return <Tool item={item} />;
    case "custom":
      return <Custom item={item} />;
    case "pause":
      return <Pause item={item} />;
    case "step":
      return (
        <div data-testid="step">
          <span className="quiet">{strings.step}</span> {visible(item.name)}{item.open && <span className="quiet"> {strings.toolRuns}</span>}
        </div>
      );
    case "run":
      return <Border words={strings.began[item.began]} at={item.at} />;
    case "end":
      return <End item={item} />;
    case "error":
      return (
        <Alert type="error" showIcon title={strings.runFailed} description={<Why why={item.message} />} data-testid="run-error" />
      );
  }
}

/** Borders say their time themselves, and a question says when it was asked. */
const ownTime = new Set<Item["kind"]>(["run", "end", "pause"]);

/** One thing in a thread's column, and when it came: where that is when the one before it came, the eye is not told again. */
export const ThreadItem = memo(function ThreadItem({ item, before }: { item: Item; before: number | null }) {
  const { language } = useStrings();
  const time = item.at === null || ownTime.has(item.kind) ? null : timeOfDay(item.at, language);
  const isNew = before === null || time !== timeOfDay(before, language);
  return (
    <div className={`thread-item of-${item.kind}`} data-kind={item.kind}>
      {item.at !== null && time !== null && (
        <time className={isNew ? "thread-at" : "visually-hidden"} dateTime={new Date(item.at).toISOString()} title={dayAndTime(item.at, language)}>
          {time}
        </time>
      )}
      <div className="thread-body"><Body item={item} /></div>
    </div>
  );
});
