import { Collapse, Skeleton, Table, type TableColumnsType } from "antd";
import { Suspense, type ComponentProps } from "react";
import { lazyWithRetry } from "../base/lazy";
import { useOverviewStrings } from "../strings/overview";
import "./table.css";

const Chart = lazyWithRetry(() => import("./chart"));

type TableRow = { key: string } & { [column: string]: string | number };

interface ChartSectionProps {
  title: string;
  hint?: string;
  content: ComponentProps<typeof Chart>["content"];
  height?: number;
  columns: { name: string; title: string }[];
  rows: TableRow[];
  testId: string;
}

/** A table of figures: the first column names the row. */
export function FiguresTable({ columns, rows, label }: Pick<ChartSectionProps, "columns" | "rows"> & { label: string }) {
  const shape: TableColumnsType<TableRow> = columns.map(({ name, title }, at) => ({
    title, dataIndex: name, rowScope: at === 0 ? "row" : undefined, align: at === 0 ? undefined : "right", className: at === 0 ? "figure-name" : undefined,
  }));
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a table that is wider than the page scrolls by keys too
    <section className="figures-table" aria-label={label} tabIndex={0}>
      <Table<TableRow> size="small" columns={shape} dataSource={rows} pagination={rows.length > 20 && { pageSize: 20, showSizeChanger: false }} />
    </section>
  );
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
