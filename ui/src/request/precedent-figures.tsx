import { Table, theme } from "antd";
import { useMemo } from "react";
import type { Precedent } from "../api/schema";
import type { Json } from "../api/types";
import { visible } from "../base/visible";
import Chart from "../charts/chart";
import { useRequestStrings } from "../strings/detail";
import { JsonValue } from "../widgets/json-value";
import { clock } from "../widgets/time";
import { axisOf, isCurrency, quantity } from "./card";

const outcomes = ["approved", "edited", "rejected", "expired"] as const;
const shapes = { approved: "circle", edited: "triangle", rejected: "crossRot", expired: "rect" } as const;

interface FiguresProps {
  found: Precedent;
  amount: number | null;
  unit: string | undefined;
  changes: Change[];
  isTable: boolean;
}

/** One dot for each earlier amount, in a row for each outcome; a line where this call lies. */
function DotPlot({ found, amount, unit, label }: Omit<FiguresProps, "changes" | "isTable"> & { label: string }) {
  const { precedent, language } = useRequestStrings();
  const { token } = theme.useToken();
  const content = useMemo(() => {
    const colors = { approved: token.colorSuccess, edited: token.colorWarning, rejected: token.colorError, expired: token.colorTextTertiary };
    const rows = outcomes.filter((outcome) => found.amounts.some((each) => each.outcome === outcome));
    const dots = rows.map((outcome, row) => ({
      label: precedent.outcomes[outcome], pointStyle: shapes[outcome], clip: false as const, pointRadius: 4, pointBorderWidth: 2, borderColor: colors[outcome], backgroundColor: `${colors[outcome]}66`,
      data: found.amounts.filter((each) => each.outcome === outcome).map((each) => ({ x: each.amount, y: row })),
    }));
    const line = { label: precedent.thisOne, showLine: true, pointRadius: 0, borderWidth: 2, borderColor: token.colorText, data: amount === null ? [] : [{ x: amount, y: -0.6 }, { x: amount, y: rows.length - 0.4 }] };
    const ofRow = (value: number | string) => precedent.outcomes[rows[Number(value)] ?? "approved"];
    return {
      type: "scatter" as const,
      data: { datasets: [...dots, line] },
      options: {
        layout: { padding: { right: 12 } },
        plugins: { legend: { align: "end" as const, onClick: () => {}, labels: { boxHeight: 0, boxWidth: 16, filter: ({ text }: { text: string }) => text === precedent.thisOne } }, tooltip: { enabled: false } },
        scales: {
          x: {
            ...axisOf([...found.amounts.map((each) => each.amount), ...(amount === null ? [] : [amount])]),
            title: { display: !isCurrency(unit) && unit !== undefined, text: visible(unit ?? "") },
            ticks: { includeBounds: false, maxTicksLimit: 6, maxRotation: 0, callback: (value: number | string) => quantity(Number(value), isCurrency(unit) ? unit : undefined, language) },
          },
          y: { min: -0.6, max: rows.length - 0.4, reverse: true, grid: { display: false }, ticks: { stepSize: 1, autoSkip: false, callback: (value: number | string) => (Number.isInteger(Number(value)) ? ofRow(value) : "") } },
        },
      },
    };
  }, [found, amount, unit, precedent, language, token]);
  return <Chart content={content} label={label} height={132} />;
}

/** The same as a table: the earlier amounts, and every argument that differs from the last call. */
function Tables({ found, unit, changes }: Pick<FiguresProps, "found" | "unit" | "changes">) {
  const { precedent, language, notSet } = useRequestStrings();
  const value = (json: Change["before"]) => (json === undefined ? notSet : <JsonValue value={json} />);
  return (
    <>
      {changes.length > 0 && (
        <Table
          size="small" pagination={false} rowKey="name" dataSource={changes} scroll={{ x: "max-content" }} data-testid="precedent-changes"
          columns={[
            { title: precedent.argument, dataIndex: "name", render: (name: string) => <code>{visible(name)}</code> },
            { title: precedent.before, dataIndex: "before", render: value }, { title: precedent.now, dataIndex: "after", render: value },
          ]}
        />
      )}
      {found.amounts.length > 0 && (
        <Table
          size="small" pagination={{ pageSize: 10, showSizeChanger: false, hideOnSinglePage: true }} rowKey="key" data-testid="precedent-amounts"
          dataSource={found.amounts.map((each, key) => ({ ...each, key }))}
          columns={[
            { title: precedent.amount, dataIndex: "amount", render: (each: number) => visible(quantity(each, unit, language)), sorter: (one, other) => one.amount - other.amount },
            { title: precedent.outcome, dataIndex: "outcome", render: (each: keyof typeof shapes) => precedent.outcomes[each] },
            { title: precedent.when, dataIndex: "at", render: (at: string) => clock(at, language) },
          ]}
        />
      )}
    </>
  );
}

export default function PrecedentFigures({ found, amount, unit, changes, isTable }: FiguresProps) {
  const { precedent, language } = useRequestStrings();
  if (isTable) return <Tables found={found} unit={unit} changes={changes} />;
  const amounts = found.amounts.map((each) => each.amount).toSorted((one, other) => one - other);
  const [least, most] = [amounts[0], amounts.at(-1)];
  if (least === undefined || most === undefined) return <p className="quiet">{precedent.noAmounts}</p>;
  const [from, to, own] = [least, most, amount].map((each) => (each === null ? null : visible(quantity(each, unit, language))));
  const below = amount === null ? 0 : amounts.filter((each) => each < amount).length;
  return <DotPlot found={found} amount={amount} unit={unit} label={precedent.plot(amounts.length, from ?? "", to ?? "", own ?? null, below)} />;
}

export interface Change {
  name: string;
  before: Json | undefined;
  after: Json | undefined;
}
