import { theme } from "antd";
import { useMemo } from "react";
import Chart from "../charts/chart";
import { FiguresTable } from "../charts/chart-section";
import { formatDuration } from "../charts/format";
import { useStrings } from "../strings";
import { useNow } from "../widgets/time";
import { visible } from "../base/visible";
import { draw, spansOf, type Span, type SpanKind } from "./run-spans";
import type { NumberedEvent } from "./stream";
import { dayAndTime } from "../widgets/time-format";

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
