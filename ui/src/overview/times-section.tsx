import { theme } from "antd";
import { useMemo } from "react";
import type { AnswerTimes, OverviewFigures } from "../api/statistics";
import { visible } from "../base/visible";
import { ChartSection } from "../charts/chart-section";
import { formatDuration, unitOf } from "../charts/format";
import { useOverviewStrings } from "../strings/overview";

/** How long people took to answer, by group. */
export function TimesSection({ figures: { times, error } }: { figures: OverviewFigures }) {
  const strings = useOverviewStrings();
  const { token } = theme.useToken();
  const content = useMemo(() => {
    const size = unitOf(Math.max(0, ...times.map(({ p90 }) => p90 ?? 0)));
    const format = (value: number | null) => formatDuration(value === null ? null : value * size, strings.language);
    const scaled = (value: number | null) => (value === null ? null : value / size);
    return {
      type: "bar" as const,
      data: {
        labels: times.map(({ group }) => nameOf(group, strings)),
        datasets: [
          { label: strings.median, data: times.map(({ median }) => scaled(median)), backgroundColor: token.colorPrimary },
          { label: strings.p90, data: times.map(({ p90 }) => scaled(p90)), backgroundColor: token.colorTextTertiary },
        ],
      },
      options: {
        indexAxis: "y" as const, interaction: { mode: "index" as const, axis: "y" as const, intersect: false },
        scales: { x: { beginAtZero: true, ticks: { maxRotation: 0, autoSkipPadding: 16, callback: (value: string | number) => format(Number(value)) } } },
        plugins: { tooltip: { callbacks: { label: ({ dataset, parsed }: { dataset: { label?: string }; parsed: { x: number | null } }) => `${dataset.label}: ${format(parsed.x)}` } } },
      },
    };
  }, [times, strings, token]);
  const columns = [
    { name: "name", title: strings.group }, { name: "answers", title: strings.answers },
    { name: "median", title: strings.median }, { name: "p90", title: strings.p90 },
  ];
  const rows = times.map(({ group, answers, median, p90 }) => ({
    key: String(group), name: nameOf(group, strings), answers,
    median: formatDuration(median, strings.language), p90: formatDuration(p90, strings.language),
  }));
  return (
    <ChartSection
      title={strings.answerTimes} hint={strings.answerTimesHint(Math.ceil(error * 100))} content={content}
      height={90 + 44 * times.length} columns={columns} rows={rows} testId="times-chart"
    />
  );
}

/** Return the name of a group; null is what is open to all, and the empty name is one person. */
export function nameOf(group: AnswerTimes["group"], strings: { openToAll: string; onePerson: string }): string {
  return group === null ? strings.openToAll : visible(group) || strings.onePerson;
}
