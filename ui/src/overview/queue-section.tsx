import { theme } from "antd";
import { useMemo } from "react";
import type { OverviewFigures } from "../api/statistics";
import { ChartSection } from "../charts/chart-section";
import { formatPoint } from "../charts/format";
import { useOverviewStrings } from "../strings/overview";

/** The queue over time: what waited, came in and went out. */
export function QueueSection({ figures: { queue, by } }: { figures: OverviewFigures }) {
  const strings = useOverviewStrings();
  const { token } = theme.useToken();
  const content = useMemo(() => {
    const labels = queue.map(({ at }) => formatPoint(at, by, strings.language));
    const line = { borderColor: token.colorPrimary, backgroundColor: token.colorPrimary, borderWidth: 2, stepped: "middle" as const, pointRadius: queue.length > 60 ? 0 : 2 };
    return {
      type: "bar" as const,
      data: {
        labels,
        datasets: [
          { type: "line" as const, label: strings.waiting, data: queue.map(({ pending }) => pending), ...line },
          { type: "bar" as const, label: strings.cameIn, data: queue.map(({ asked }) => asked), backgroundColor: token.colorWarning },
          { type: "bar" as const, label: strings.wentOut, data: queue.map(({ ended }) => ended), backgroundColor: token.colorSuccess },
        ],
      },
      options: {
        interaction: { mode: "index" as const, intersect: false },
        scales: { x: { ticks: { maxRotation: 0, autoSkipPadding: 16 } }, y: { beginAtZero: true, ticks: { precision: 0 } } },
      },
    };
  }, [queue, by, strings, token]);
  const rows = queue.map(({ at, pending, asked, ended }) => ({ key: at, time: formatPoint(at, by, strings.language), pending, asked, ended }));
  const columns = [
    { name: "time", title: strings.time }, { name: "pending", title: strings.waiting },
    { name: "asked", title: strings.cameIn }, { name: "ended", title: strings.wentOut },
  ];
  return <ChartSection title={strings.queue} hint={strings.queueHint} content={content} columns={columns} rows={rows} testId="queue-chart" />;
}
