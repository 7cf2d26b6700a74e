import { Table } from "antd";
import { useState } from "react";
import type { Json } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { AgentText } from "../widgets/agent-text";
import { JsonValue } from "../widgets/json-value";
import { MarkedText } from "../widgets/marked-text";
import { visible } from "../base/visible";
import { MoreButton } from "./more-button";
import { useExpansion } from "./expansion";

const firstPage = 20;
const largestPage = 500;

/** Return whether a text would pass for a value of another type without its quotes. */
const isAmbiguous = (text: string) => text.trim() !== text || text === "" || /^(?:-?\d|true$|false$|null$)/.test(text);

function Cell({ value, isExact }: { value: Json; isExact: boolean }) {
  if (typeof value === "string" && !(isExact && isAmbiguous(value))) return <AgentText text={value} />;
  return value === null && !isExact ? null : <JsonValue value={value} />;
}

interface RowsTableProps {
  columns: string[];
  rows: readonly (readonly Json[])[];
  hasHead?: boolean;
  /** Tell a text from a value of another type, as JSON does. */
  isExact?: boolean;
}

/** Rows of values in pages; the number of all rows stands below. */
export function RowsTable({ columns, rows, hasHead = true, isExact = false }: RowsTableProps) {
  const strings = useRequestStrings();
  const { level, expand } = useExpansion();
  const [page, setPage] = useState(1);
  const size = Math.min(firstPage * 10 ** level, largestPage);
  const heads = columns.map((title, column) => ({
    key: String(column), title: <MarkedText text={visible(title)} />, dataIndex: String(column),
    ...(rows.every((row) => typeof row[column] === "number") && { align: "end" as const }),
    render: (cell: Json) => <Cell value={cell} isExact={isExact} />,
  }));
  const data = rows.map((row, number) => ({ key: number, ...Object.fromEntries(row.map((cell, column) => [String(column), cell])) }));
  const pages = {
    current: Math.min(page, Math.ceil(rows.length / size)), pageSize: size, showSizeChanger: false, onChange: setPage,
    showTotal: (all: number, [first, last]: [number, number]) => strings.rowsOf(first, last, all),
  };
  return (
    <>
      <Table size="small" bordered showHeader={hasHead} columns={heads} dataSource={data} scroll={{ x: "max-content" }} pagination={rows.length > size && pages} />
      {rows.length > size && size < largestPage && <MoreButton label={strings.values.moreRows(rows.length - size)} onExpand={expand} />}
    </>
  );
}
