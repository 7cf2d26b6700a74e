import { Alert, Table } from "antd";
import type { CheckShare } from "../api/schema";
import { useSession } from "../api/session";
import { useChecks } from "../api/suggestions";
import { useRequestStrings } from "../strings/use-request-strings";
import { visible } from "../widgets/visible";

/** How many checks each tool's calls and each person got, and how many were noticed; only for those who may read it. */
export function Checks() {
  const { granting: { checks: strings } } = useRequestStrings();
  const role = useSession().data?.role;
  const { data } = useChecks(role === "admin" || role === "auditor");
  if (!data || data.items.length === 0) return null;
  const shares = [...data.tools, ...data.people];
  const alarms = shares.filter(({ alarm }) => alarm).map(({ name }) => visible(name));
  const table = (title: string, rows: CheckShare[]) => (
    <Table<CheckShare>
      size="small" pagination={false} rowKey="name" dataSource={rows} scroll={{ x: true }}
      columns={[
        { title, dataIndex: "name", width: "40%", render: (name: string) => visible(name) },
        { title: strings.newest, width: "30%", render: (_, row) => strings.share(row.newest_caught, row.newest) },
        { title: strings.total, render: (_, row) => strings.share(row.caught, row.total) },
      ]}
    />
  );
  return (
    <section aria-labelledby="checks" data-testid="checks" className="checks">
      <h2 id="checks">{strings.heading}</h2>
      <p className="quiet">{strings.hint}</p>
      {alarms.length > 0 && <Alert type="error" showIcon title={strings.alarm(alarms.join(", "))} data-testid="checks-alarm" />}
      {shares.length === 0 && <p className="quiet">{strings.unanswered(data.items.length)}</p>}
      {data.tools.length > 0 && table(strings.tool, data.tools)}
      {data.people.length > 0 && table(strings.person, data.people)}
    </section>
  );
}
