import { Alert, Table, Tag } from "antd";
import type { CheckShare } from "../api/schema";
import { useSession } from "../api/session";
import { useChecks } from "../api/suggestions";
import { useRequestStrings } from "../strings/detail";
import { visible } from "../base/visible";

/** The shares of tools or of people. Two tables stand below each other: their columns have the same widths. */
function Shares({ title, shares }: { title: string; shares: CheckShare[] }) {
  const { granting: { checks: strings } } = useRequestStrings();
  return (
    <Table<CheckShare>
      size="small" pagination={false} rowKey="name" dataSource={shares} tableLayout="fixed"
      columns={[
        {
          title, dataIndex: "name", width: "40%", rowScope: "row",
          render: (name: string, { alarm }) => <span className="check-name"><span>{visible(name)}</span>{alarm && <Tag color="error">{strings.low}</Tag>}</span>,
        },
        { title: strings.newest, align: "right", render: (_, row) => strings.share(row.newest_caught, row.newest) },
        { title: strings.total, align: "right", render: (_, row) => strings.share(row.caught, row.total) },
      ]}
    />
  );
}

/** How many checks each tool's calls and each person got, and how many were noticed; only for those who may read it. */
export function Checks() {
  const { granting: { checks: strings } } = useRequestStrings();
  const role = useSession().data?.role;
  const { data } = useChecks(role === "admin" || role === "auditor");
  if (!data || data.items.length === 0) return null;
  const shares = [...data.tools, ...data.people];
  const alarms = shares.filter(({ alarm }) => alarm).map(({ name }) => visible(name));
  return (
    <section aria-labelledby="checks" data-testid="checks" className="checks">
      <h2 id="checks">{strings.heading}</h2>
      <p className="quiet">{strings.hint}</p>
      {alarms.length > 0 && <Alert type="error" showIcon title={strings.alarm(alarms.join(strings.comma))} data-testid="checks-alarm" />}
      {shares.length === 0 && <p className="quiet">{strings.unanswered(data.items.length)}</p>}
      {data.tools.length > 0 && <Shares title={strings.tool} shares={data.tools} />}
      {data.people.length > 0 && <Shares title={strings.person} shares={data.people} />}
    </section>
  );
}
