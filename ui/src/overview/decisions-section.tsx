import { theme } from "antd";
import { useMemo } from "react";
import type { DecisionCounts, NamedDecisions } from "../api/statistics";
import { visible } from "../base/visible";
import { ChartSection } from "../charts/chart-section";
import { useOverviewStrings } from "../strings/overview";

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
export function DecisionsSection({ title, column, nameless, named, testId }: DecisionsSectionProps) {
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
