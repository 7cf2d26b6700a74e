import { Button } from "antd";
import { reportPath, useReport, type OversightReport, type OversightRow, type Period } from "../api/statistics";
import { namelessRule } from "../widgets/names";
import { basePath } from "../base/base-path";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { FiguresTable } from "../charts/chart-section";
import { Counting } from "./counting";
import { formatDuration } from "../charts/format";
import { useOverviewStrings } from "../strings/overview";
import { nameOf } from "./times-section";

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
