import { Button } from "antd";
import { memo, useState } from "react";
import { useStrings } from "../strings";
import { visibleJson } from "../widgets/visible";
import type { Numbered, StreamEvent } from "./stream";

/** Ten thousand lines that nobody looks at would make every new one slow. */
const step = 500;

const RawEvent = memo(function RawEvent({ number, event }: { number: number; event: StreamEvent }) {
  return <li data-number={number} data-type={event.type} value={number}><code className="json">{visibleJson(event)}</code></li>;
});

/** Every event as it came, once and in order; folded away, and of a long thread its end. */
export function RawEvents({ events }: { events: Numbered[] }) {
  const strings = useStrings();
  const [most, setMost] = useState(step);
  const shown = events.slice(-most);
  return (
    <details className="raw">
      <summary>{strings.rawEvents(events.length)}</summary>
      {shown.length < events.length && (
        <Button size="small" onClick={() => setMost(most + step)} data-testid="earlier-events">{strings.earlierEvents}</Button>
      )}
      <ol data-testid="events">
        {shown.map(({ number, event }) => <RawEvent key={number} number={number} event={event} />)}
      </ol>
    </details>
  );
}
