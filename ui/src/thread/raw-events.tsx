import { Button } from "antd";
import { memo, useState } from "react";
import { useStrings } from "../strings";
import { visibleJson } from "../base/visible";
import type { NumberedEvent, StreamEvent } from "./stream";

/** Number of events rendered at first; more would slow down each update. */
const pageSize = 500;

const RawEvent = memo(function RawEvent({ number, event }: { number: number; event: StreamEvent }) {
  return <li data-number={number} data-type={event.type} value={number}><code className="json">{visibleJson(event)}</code></li>;
});

/** Every event of the stream as received, collapsed at first. */
export function RawEvents({ events }: { events: NumberedEvent[] }) {
  const strings = useStrings();
  const [limit, setLimit] = useState(pageSize);
  const visibleEvents = events.slice(-limit);
  return (
    <details className="raw">
      <summary>{strings.rawEvents(events.length)}</summary>
      {visibleEvents.length < events.length && (
        <Button size="small" onClick={() => setLimit(limit + pageSize)} data-testid="earlier-events">{strings.earlierEvents}</Button>
      )}
      <ol data-testid="events">
        {visibleEvents.map(({ number, event }) => <RawEvent key={number} number={number} event={event} />)}
      </ol>
    </details>
  );
}
