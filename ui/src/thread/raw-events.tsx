import { memo } from "react";
import { useStrings } from "../strings";
import { visibleJson } from "../widgets/visible";
import type { Numbered, StreamEvent } from "./reduce";

const RawEvent = memo(function RawEvent({ number, event }: { number: number; event: StreamEvent }) {
  return <li data-number={number} data-type={event.type} value={number}><code className="json">{visibleJson(event)}</code></li>;
});

/** Every event as it came, once and in order; folded away, but always in the document. */
export function RawEvents({ events }: { events: Numbered[] }) {
  const strings = useStrings();
  return (
    <details className="raw">
      <summary>{strings.rawEvents(events.length)}</summary>
      <ol data-testid="events">
        {events.map(({ number, event }) => <RawEvent key={number} number={number} event={event} />)}
      </ol>
    </details>
  );
}
