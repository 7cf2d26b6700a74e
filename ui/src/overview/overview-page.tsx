import { useQuery } from "@tanstack/react-query";
import { Flex, Progress, Statistic, theme, Button, Empty, DatePicker, Segmented, Tabs } from "antd";
import dayjs from "dayjs";
import { useMemo, useState } from "react";
import { call } from "../api/call";
import type { AnswerTimes, DecisionCounts, NamedDecisions, OversightReport, OversightRow, OverviewFigures } from "../api/schema";
import { useSession } from "../api/session";
import { basePath } from "../base/router";
import { visible } from "../base/visible";
import { formatMoment, formatDuration, ChartSection, formatPoint, unitOf } from "../charts/chart-section";
import { FiguresTable } from "../charts/figures-table";
import { useOverviewStrings } from "../strings/overview";
import { Loading } from "../widgets/loading";
import { namelessRule } from "../widgets/names";
import { Problem } from "../widgets/problem";
import { useNow } from "../widgets/time";
import "./overview.css";

/** The first and the last day of the figures, in UTC, and the length of a point of the queue. */
interface Period {
  since: string;
  until: string;
  by: "hour" | "day";
}

const figuresPath = ({ since, until, by }: Period, format?: "csv") =>
  `/v1/statistics?${new URLSearchParams({ since: `${since}T00:00:00Z`, until: `${until}T00:00:00Z`, by, ...(format && { format }) }).toString()}`;

const reportPath = ({ since, until }: Period, format?: "html") =>
  `/v1/report?${new URLSearchParams({ since: `${since}T00:00:00Z`, until: `${until}T00:00:00Z`, ...(format && { format }) }).toString()}`;

/** Ask again soon while the server still counts older events. */
const again = { refetchInterval: ({ state }: { state: { data: { complete: boolean } | undefined } }) => (state.data?.complete === false ? 1_000 : 60_000) };

const useFigures = (period: Period) => useQuery({
  queryKey: ["statistics", period],
  queryFn: () => call<OverviewFigures>("GET", figuresPath(period)),
  placeholderData: (before: OverviewFigures | undefined) => before,
  ...again,
});

const useReport = (period: Period) => useQuery({
  queryKey: ["report", period.since, period.until],
  queryFn: () => call<OversightReport>("GET", reportPath(period)),
  placeholderData: (before: OversightReport | undefined) => before,
  ...again,
});

/** Say up to which time events are counted, and how far the counting is. */
function Counting({ state }: { state: { complete: boolean; share: number; as_of: string } }) {
  const strings = useOverviewStrings();
  const percent = Math.floor(state.share * 100);
  return (
    <output className="quiet" data-testid="counting" data-complete={state.complete}>
      {!state.complete && <Flex vertical><span>{strings.counting(percent)}</span><Progress percent={percent} showInfo={false} aria-label={strings.counting(percent)} /></Flex>}
      {strings.asOf(formatMoment(state.as_of, strings.language))}
    </output>
  );
}

/** The figures that matter first. */
function Summary({ figures: { pending, oldest, decisions, fast } }: { figures: OverviewFigures }) {
  const strings = useOverviewStrings();
  const now = useNow();
  return (
    <Flex gap="large" wrap data-testid="summary">
      <Statistic title={strings.pendingNow} value={pending} />
      <Statistic title={strings.oldestWaiting} value={oldest ? formatDuration(Math.max(0, now - new Date(oldest).getTime()) / 1_000, strings.language) : strings.none} />
      <Statistic title={strings.expired} value={decisions.expired} />
      {fast.map(({ measured_from, approvals, under_2s }) => (
        <Statistic
          key={measured_from} title={`${strings.quick} · ${strings.quickFrom[measured_from]}`} value={strings.quickOf(under_2s, approvals)}
        />
      ))}
    </Flex>
  );
}

const kinds = [
  "approved", "edited", "rejected", "answered", "declined", "expired", "cancelled", "policy_approved", "policy_rejected", "grant_approved",
] as const satisfies (keyof DecisionCounts)[];
/** More bars would be too thin to read; the table has them all. */
const most = 12;

interface DecisionsSectionProps {
  title: string;
  column: string;
  nameless: string;
  named: NamedDecisions[];
  testId: string;
}

/** How requests ended, as one bar for each agent or tool. */
function DecisionsSection({ title, column, nameless, named, testId }: DecisionsSectionProps) {
  const strings = useOverviewStrings();
  const { token } = theme.useToken();
  const used = useMemo(() => kinds.filter((kind) => named.some(({ decisions }) => decisions[kind] > 0)), [named]);
  const content = useMemo(() => {
    const colors: Record<(typeof kinds)[number], string> = {
      approved: token.colorSuccess, edited: token.colorWarning, rejected: token.colorError, answered: token.colorPrimary,
      declined: token.colorErrorBorder, expired: token.colorTextTertiary, cancelled: token.purple,
      policy_approved: token.colorSuccessBorder, policy_rejected: token.colorErrorHover, grant_approved: token.colorInfoBorder,
    };
    const bars = named.slice(0, most);
    return {
      type: "bar" as const,
      data: {
        labels: bars.map(({ name }) => shorten(visible(name) || nameless)),
        datasets: used.map((kind) => ({ label: strings.decisions[kind], data: bars.map(({ decisions }) => decisions[kind]), backgroundColor: colors[kind] })),
      },
      options: {
        indexAxis: "y" as const, interaction: { mode: "index" as const, axis: "y" as const, intersect: false },
        scales: { x: { stacked: true, beginAtZero: true, ticks: { precision: 0 } }, y: { stacked: true } },
      },
    };
  }, [named, used, nameless, strings, token]);
  if (used.length === 0) {
    return (
      <section aria-label={title} data-testid={testId}>
        <h2>{title}</h2>
        <p className="quiet">{strings.noDecisions}</p>
      </section>
    );
  }
  const columns = [{ name: "name", title: column }, ...used.map((kind) => ({ name: kind, title: strings.decisions[kind] }))];
  const rows = named.map(({ name, decisions }) => ({ key: name, ...decisions, name: visible(name) || nameless }));
  const height = 90 + 28 * Math.max(1, Math.min(named.length, most));
  return <ChartSection title={title} content={content} height={height} columns={columns} rows={rows} testId={testId} />;
}

/** Return a name that leaves room for its bar. */
const shorten = (name: string) => (name.length > 22 ? `${name.slice(0, 21)}…` : name);

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

/** How long people took to answer, by group. */
function TimesSection({ figures: { times, error } }: { figures: OverviewFigures }) {
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
function nameOf(group: AnswerTimes["group"], strings: { openToAll: string; onePerson: string }): string {
  return group === null ? strings.openToAll : visible(group) || strings.onePerson;
}

const isEmpty = ({ queue, decisions, pending }: OverviewFigures) =>
  pending === 0 && queue.every(({ asked }) => asked === 0) && Object.values(decisions).every((count) => count === 0);

/** The charts of a period. */
function Figures({ period }: { period: Period }) {
  const strings = useOverviewStrings();
  const role = useSession().data?.role;
  const { data, error, refetch } = useFigures(period);
  if (error && !data) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Loading paragraph={{ rows: 12 }} />;
  return (
    <>
      {role === "person" && <p className="quiet">{strings.ownFigures}</p>}
      <Counting state={data} />
      <Problem error={error} retry={() => void refetch()} />
      {isEmpty(data) ? <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.nothing} data-testid="no-figures" /> : (
        <>
          <Summary figures={data} />
          <QueueSection figures={data} />
          <DecisionsSection title={strings.byTool} column={strings.tool} nameless={strings.noTool} named={data.tools} testId="tools-chart" />
          <DecisionsSection title={strings.byAgent} column={strings.agent} nameless={strings.noAgent} named={data.agents} testId="agents-chart" />
          {data.times.length > 0 && <TimesSection figures={data} />}
          <div><Button href={basePath + figuresPath(period, "csv")} data-testid="download-csv">{strings.downloadTable}</Button></div>
        </>
      )}
    </>
  );
}

type Part = "rules" | "tools" | "groups";

const quickOf = ({ fast }: OversightRow) => fast.map(({ under_2s, approvals }) => `${under_2s}/${approvals}`).join(" · ") || "–";

function RowsTable({ part, title, report }: { part: Part; title: string; report: OversightReport }) {
  const strings = useOverviewStrings();
  const nameless = { rules: strings.noRule, tools: strings.noTool, groups: strings.onePerson }[part];
  const label = ({ name }: OversightRow) => {
    if (part === "groups") return nameOf(name, strings);
    return (part === "rules" && namelessRule(name ?? "", strings)) || visible(name ?? "") || nameless;
  };
  const cells = (name: string, row: OversightRow, key: string) => ({
    key, name, asked: row.asked, people: row.decided_by_people, policy: row.decided_by_policy, grant: row.decided_by_grant,
    edited: row.edited, rejected: row.rejected, expired: row.expired, seen: row.seen,
    median: formatDuration(row.median, strings.language), quick: quickOf(row), checks: row.checks ? `${row.caught}/${row.checks}` : "–",
  });
  const columns = [
    { name: "name", title: { rules: strings.rule, tools: strings.tool, groups: strings.group }[part] },
    { name: "asked", title: strings.asked }, { name: "people", title: strings.byPeople }, { name: "policy", title: strings.byPolicy },
    { name: "grant", title: strings.byGrant }, { name: "edited", title: strings.decisions.edited }, { name: "rejected", title: strings.decisions.rejected },
    { name: "expired", title: strings.decisions.expired }, { name: "seen", title: strings.seen }, { name: "median", title: strings.median },
    { name: "quick", title: strings.under2s }, { name: "checks", title: strings.checksCaught },
  ];
  const rows = [...report[part].map((row) => cells(label(row), row, String(row.name))), cells(strings.all, report.total, "total:")];
  return <div data-testid={`report-${part}`}><h2>{title}</h2><FiguresTable columns={columns} rows={rows} label={title} /></div>;
}

/** How people decided in a period, for auditors. */
export function Report({ period }: { period: Period }) {
  const strings = useOverviewStrings();
  const { data, error, refetch } = useReport(period);
  if (error && !data) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Loading paragraph={{ rows: 12 }} />;
  return (
    <>
      <Counting state={{ ...data, as_of: data.made_at }} />
      {data.head && <p className="quiet">{strings.covers(data.position)} <code>{data.head}</code></p>}
      {(["rules", "tools", "groups"] as const).map((part) => <RowsTable key={part} part={part} title={strings.reportTables[part]} report={data} />)}
      <div><Button href={basePath + reportPath(period, "html")} data-testid="download-report">{strings.downloadReport}</Button></div>
    </>
  );
}

const lengths = [1, 7, 30, 90];
const mostHours = 3;
/** The most days that the server counts in one reply. */
const mostDays = 366;

const today = () => new Date().toISOString().slice(0, 10);
const daysOf = ({ since, until }: Period) => dayjs(until).diff(dayjs(since), "day") + 1;

/** Return the period between two days; a short one has a point for each hour. */
function between(since: string, until: string): Period {
  const period: Period = { since, until, by: "day" };
  return { ...period, by: daysOf(period) <= mostHours ? "hour" : "day" };
}

/** Return the period of some days up to today, in UTC. */
function lastDays(days: number): Period {
  return between(dayjs(today()).subtract(days - 1, "day").format("YYYY-MM-DD"), today());
}

/** Choose a period: some days up to today, or any two days. */
function PeriodPicker({ period, onChange }: { period: Period; onChange: (period: Period) => void }) {
  const strings = useOverviewStrings();
  const chosen = period.until === today() ? lengths.find((days) => days === daysOf(period)) : undefined;
  return (
    <Flex gap="small" wrap align="center">
      <Segmented<number>
        aria-label={strings.period} value={chosen ?? 0} onChange={(days) => onChange(lastDays(days))}
        options={lengths.map((days) => ({ value: days, label: strings.days(days) }))} data-testid="period"
      />
      <DatePicker.RangePicker
        aria-label={strings.period} allowClear={false} value={[dayjs(period.since), dayjs(period.until)]} maxDate={dayjs(today())}
        disabledDate={(day, { from }) => from !== undefined && Math.abs(day.diff(from, "day")) >= mostDays}
        onChange={(range) => range?.[0] && range[1] && onChange(between(range[0].format("YYYY-MM-DD"), range[1].format("YYYY-MM-DD")))}
      />
    </Flex>
  );
}

/** How requests come in and how people decide them. */
export default function OverviewPage() {
  const strings = useOverviewStrings();
  const role = useSession().data?.role;
  const [period, setPeriod] = useState(() => lastDays(7));
  const figures = <div className="overview-part"><Figures period={period} /></div>;
  const readsAll = role === "admin" || role === "auditor";
  return (
    <div className="page-column overview">
      <h1>{strings.overviewPage}</h1>
      <PeriodPicker period={period} onChange={setPeriod} />
      {readsAll ? (
        <Tabs items={[
          { key: "figures", label: strings.figures, children: figures },
          { key: "report", label: strings.report, children: <div className="overview-part"><Report period={period} /></div> },
        ]} />
      ) : figures}
    </div>
  );
}
