import { theme } from "antd";
import { useMemo } from "react";
import type { Json } from "../api/types";
import { visible } from "../base/visible";
import Chart from "../charts/chart";
import { FiguresTable } from "../charts/figures-table";
import { formatDuration } from "../charts/chart-section";
import { useStrings } from "../strings";
import { useNow } from "../widgets/time";
import { dayAndTime } from "../widgets/time-format";
import type { NumberedEvent, StreamEvent } from "./stream";

type SpanKind = "message" | "tool" | "step" | "wait";

/** One bar of a run, in milliseconds of the worker's clock; `end` is null while it goes on. */
interface Span {
  key: number;
  kind: SpanKind;
  /** The name of a tool or a step; empty for others. */
  name: string;
  start: number;
  end: number | null;
}

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");

const isPause = ({ outcome }: StreamEvent) =>
  typeof outcome === "object" && outcome !== null && !Array.isArray(outcome) && outcome.type === "interrupt";

const begins: { readonly [type: string]: [SpanKind, id: string, name: string] } = {
  TEXT_MESSAGE_START: ["message", "messageId", ""], TOOL_CALL_START: ["tool", "toolCallId", "toolCallName"], STEP_STARTED: ["step", "stepName", "stepName"],
};
const ends: { readonly [type: string]: [SpanKind, id: string] } = {
  TEXT_MESSAGE_END: ["message", "messageId"], TOOL_CALL_RESULT: ["tool", "toolCallId"], STEP_FINISHED: ["step", "stepName"],
};

/** Return the bars of a thread's runs, by their beginning. Everything that is open at an end of a run ends with it. */
export function spansOf(events: readonly NumberedEvent[]): Span[] {
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  const begin = (id: string, span: Span) => {
    spans.push(span);
    open.set(id, span);
  };
  const close = (id: string, at: number) => {
    const span = open.get(id);
    if (span) span.end = Math.max(span.start, at);
    open.delete(id);
  };
  for (const { number, event } of events) {
    const at = event.timestamp;
    if (typeof at !== "number") continue;
    const [first, last] = [begins[event.type], ends[event.type]];
    if (first) begin(`${first[0]} ${text(event[first[1]])}`, { key: number, kind: first[0], name: text(event[first[2]]), start: at, end: null });
    else if (last) close(`${last[0]} ${text(event[last[1]])}`, at);
    else if (event.type === "RUN_STARTED") close("wait", at);
    else if (event.type === "RUN_FINISHED" && isPause(event)) begin("wait", { key: number, kind: "wait", name: "", start: at, end: null });
    else if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") for (const id of [...open.keys()]) close(id, at);
  }
  return spans;
}

/** A span on the axis of a picture, in seconds from the beginning. */
interface DrawnSpan {
  span: Span;
  from: number;
  to: number;
}

/** Place spans on an axis on which each wait takes no more than a third of the work, so that work beside long waits can be seen. */
export function draw(spans: Span[], now: number): { drawn: DrawnSpan[]; isShortened: boolean } {
  const waits = spans.filter(({ kind }) => kind === "wait");
  const origin = spans[0]?.start ?? 0;
  const last = spans.reduce((latest, { end }) => Math.max(latest, end ?? now), origin);
  // A tool call may be open while a person is asked: its wait is no work.
  const work = waits.reduce((left, { start, end }) => left - ((end ?? now) - start), last - origin);
  const most = Math.max(1_000, work / 3);
  const cutBefore = (at: number) => waits.reduce((cut, { start, end }) => cut + Math.max(0, Math.min(at, end ?? now) - start - most), 0);
  const place = (at: number) => (at - origin - cutBefore(at)) / 1_000;
  const drawn = spans.map((span) => ({ span, from: place(span.start), to: place(span.end ?? now) }));
  return { drawn, isShortened: waits.some(({ start, end }) => (end ?? now) - start > most) };
}

/** The newest spans; more rows would be too thin to read, and the table has them all. */
const most = 80;
const kinds: SpanKind[] = ["message", "tool", "step", "wait"];
const shorten = (name: string) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);

/** The run as bars over time, with a person's wait as its own, and the same as a table. */
export default function RunPicture({ events, isLive }: { events: NumberedEvent[]; isLive: boolean }) {
  const strings = useStrings();
  const { token } = theme.useToken();
  const spans = useMemo(() => spansOf(events), [events]);
  const ticking = useNow();
  const lastEvent = events.at(-1)?.event.timestamp;
  // What a dead worker left open goes on no longer.
  const now = isLive ? ticking : typeof lastEvent === "number" ? lastEvent : ticking;
  const isOpen = spans.some(({ end }) => end === null);
  const at = isOpen ? now : 0;
  const { content, isShortened, lanes } = useMemo(() => {
    const { drawn, isShortened: shortened } = draw(spans.slice(-most), at);
    const nameOf = ({ kind, name }: Span) => shorten(visible(name) || strings.spanKinds[kind]);
    const labels = [...new Set(drawn.map(({ span }) => nameOf(span)))];
    const colors = { message: token.colorPrimary, tool: token.colorSuccess, step: token.colorTextTertiary, wait: token.colorWarning };
    const datasets = kinds.map((kind) => ({
      label: strings.spanKinds[kind], backgroundColor: colors[kind], grouped: false, minBarLength: 3,
      data: drawn.filter(({ span }) => span.kind === kind).map(({ span, from, to }) => ({ x: [from, to], y: nameOf(span), span })),
    })).filter(({ data }) => data.length > 0);
    const label = ({ raw }: { raw: unknown }) => {
      const { span } = raw as { span: Span };
      return `${nameOf(span)}: ${formatDuration(((span.end ?? at) - span.start) / 1_000, strings.language)}`;
    };
    return {
      isShortened: shortened, lanes: labels.length,
      content: {
        type: "bar" as const, data: { labels, datasets: datasets as never },
        options: {
          indexAxis: "y" as const, plugins: { legend: { display: datasets.length > 1 }, tooltip: { callbacks: { title: () => "", label } } },
          scales: { x: { min: 0, ticks: { display: !shortened, callback: (value: string | number) => formatDuration(Number(value), strings.language) } } },
        },
      },
    };
  }, [spans, at, strings, token]);
  const columns = [
    { name: "what", title: strings.spanColumns.what }, { name: "start", title: strings.spanColumns.start }, { name: "length", title: strings.spanColumns.length },
  ];
  const rows = spans.map(({ key, kind, name, start, end }) => ({
    key: String(key), what: name ? `${strings.spanKinds[kind]}: ${visible(name)}` : strings.spanKinds[kind],
    start: dayAndTime(start, strings.language), length: formatDuration(((end ?? now) - start) / 1_000, strings.language),
  }));
  if (spans.length === 0) return <p className="quiet">{strings.streamEmpty}</p>;
  return (
    <div data-testid="run-picture">
      {isShortened && <p className="quiet">{strings.waitsShortened}</p>}
      <Chart content={content} label={strings.runPicture} height={70 + 30 * lanes} />
      <FiguresTable columns={columns} rows={rows} label={strings.runPicture} />
    </div>
  );
}
