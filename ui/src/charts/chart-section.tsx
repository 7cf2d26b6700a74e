import { Collapse, Skeleton } from "antd";
import { Suspense, type ComponentProps } from "react";
import { lazyWithRetry } from "../base/browser";
import { useOverviewStrings } from "../strings/overview";
import { FiguresTable, type TableRow } from "./figures-table";

const units = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

/** Return the length in seconds of the largest unit that fits into a time. */
export const unitOf = (seconds: number) => (units.find(([, each]) => seconds >= each) ?? units[3])[1];

/** Return a time in its largest unit, such as "4 min"; below ten of it with one decimal, below one with two digits. */
export function formatDuration(seconds: number | null, language: string): string {
  if (seconds === null) return "–";
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? units[3];
  const value = seconds / size;
  const digits = value < 1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: value < 10 ? 1 : 0 };
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short", ...digits }).format(value);
}

/** Return a point of the queue as a day or an hour, in UTC. */
export function formatPoint(at: string, by: "hour" | "day", language: string): string {
  const hour: Intl.DateTimeFormatOptions = by === "hour" ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } : {};
  return new Intl.DateTimeFormat(language, { month: "numeric", day: "numeric", ...hour, timeZone: "UTC" }).format(new Date(at));
}

/** Return a time with its day, in UTC. */
export const formatMoment = (at: string, language: string) =>
  new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23", timeZone: "UTC" }).format(new Date(at));

const Chart = lazyWithRetry(() => import("./chart"));

interface ChartSectionProps {
  title: string;
  hint?: string;
  content: ComponentProps<typeof Chart>["content"];
  height?: number;
  columns: { name: string; title: string }[];
  rows: TableRow[];
  testId: string;
}

/** A chart with a table of the same figures, which a person opens. */
export function ChartSection({ title, hint, content, height = 240, columns, rows, testId }: ChartSectionProps) {
  const strings = useOverviewStrings();
  return (
    <section aria-label={title} data-testid={testId}>
      <h2>{title}</h2>
      {hint && <p className="quiet">{hint}</p>}
      <Suspense fallback={<div style={{ height }}><Skeleton active /></div>}>
        <Chart content={content} label={title} height={height} />
      </Suspense>
      <Collapse ghost size="small" styles={{ header: { paddingInline: 0 }, body: { paddingInline: 0 } }} items={[{ key: "table", label: `${strings.table}: ${title}`, children: <FiguresTable columns={columns} rows={rows} label={`${strings.table}: ${title}`} /> }]} />
    </section>
  );
}
