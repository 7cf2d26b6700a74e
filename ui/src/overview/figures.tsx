import { Button, Empty } from "antd";
import { useFigures, figuresPath, type OverviewFigures, type Period } from "../api/statistics";
import { useSession } from "../api/session";
import { basePath } from "../base/base-path";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { Counting } from "./counting";
import { DecisionsSection } from "./decisions-section";
import { QueueSection } from "./queue-section";
import { useOverviewStrings } from "../strings/overview";
import { Summary } from "./summary";
import { TimesSection } from "./times-section";

const isEmpty = ({ queue, decisions, pending }: OverviewFigures) =>
  pending === 0 && queue.every(({ asked }) => asked === 0) && Object.values(decisions).every((count) => count === 0);

/** The charts of a period. */
export function Figures({ period }: { period: Period }) {
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
