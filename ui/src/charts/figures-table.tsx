import { Table, type TableColumnsType } from "antd";
import "./table.css";

export type TableRow = { key: string } & { [column: string]: string | number };

interface FiguresTableProps {
  columns: { name: string; title: string }[];
  rows: TableRow[];
  label: string;
}

/** A table of figures: the first column names the row. */
export function FiguresTable({ columns, rows, label }: FiguresTableProps) {
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
