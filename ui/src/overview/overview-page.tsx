import { Tabs } from "antd";
import { useState } from "react";
import { useSession } from "../api/session";
import { Figures } from "./figures";
import { lastDays, PeriodPicker } from "./period-picker";
import { Report } from "./report";
import { useOverviewStrings } from "../strings/overview";
import "./overview.css";

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
