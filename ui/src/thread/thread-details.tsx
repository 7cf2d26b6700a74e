import { Card, Descriptions } from "antd";
import type { Json, Thread } from "../api/types";
import { actorName } from "../widgets/names";
import { useStrings } from "../strings";
import { JsonValue } from "../widgets/agent-text";
import { visible } from "../base/visible";
import { RawEvents } from "./raw-events";
import type { StreamState } from "./stream";
import { dayAndTime } from "../widgets/time-format";

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Show a text without the quotes of JSON. */
function Value({ value }: { value: Json }) {
  return typeof value === "string" ? <span className="agent-text">{visible(value)}</span> : <JsonValue value={value} />;
}

function Values({ values }: { values: Json | undefined }) {
  const strings = useStrings();
  if (!isObject(values) || Object.keys(values).length === 0) return null;
  const items = Object.entries(values).map(([name, value]) => ({
    key: name, label: visible(name), children: <Value value={value} />,
  }));
  return (
    <Card size="small" title={strings.resultTitle}>
      <div data-testid="thread-values"><Descriptions size="small" column={1} items={items} /></div>
    </Card>
  );
}

function Timestamp({ at }: { at: string }) {
  const { language } = useStrings();
  return <time dateTime={at} title={at}>{dayAndTime(Date.parse(at), language)}</time>;
}

function Facts({ thread }: { thread: Thread }) {
  const strings = useStrings();
  const items = [
    { key: "agent", label: strings.agent, children: visible(thread.agent) },
    { key: "started", label: strings.started, children: <Timestamp at={thread.created_at} /> },
    ...(thread.started_by ? [{ key: "by", label: strings.startedBy, children: actorName(thread.started_by, strings) }] : []),
    { key: "changed", label: strings.lastChange, children: <Timestamp at={thread.updated_at} /> },
  ];
  return <Card size="small"><Descriptions size="small" column={1} items={items} data-testid="thread-facts" /></Card>;
}

/** The details beside the stream: facts of the thread, the agent's result and the raw events. */
export function ThreadDetails({ thread, stream }: { thread: Thread | undefined; stream: StreamState }) {
  return (
    <>
      {thread && <Facts thread={thread} />}
      <Values values={stream.values ?? thread?.values} />
      <RawEvents events={stream.events} />
    </>
  );
}
