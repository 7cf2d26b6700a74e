import { Button, Empty } from "antd";
import { useCounts } from "../api/counts";
import type { Filters } from "../api/lists";
import { useSession } from "../api/session";
import { useStrings } from "../strings";
import { Link } from "../base/router";
import { applyFilters, isFiltered as isNarrowed } from "./inbox-url";

function DoneToday() {
  const strings = useStrings();
  const today = useCounts()?.today;
  if (!today || today === "0") return null;
  return <p data-testid="done-today">{strings.doneToday(today)}</p>;
}

/** An empty list, with the number of requests done today. */
export function EmptyList({ filters }: { filters: Filters }) {
  const strings = useStrings();
  const { tab, order } = filters;
  const isAuditor = useSession().data?.role === "auditor";
  const isFiltered = isNarrowed(filters);
  return (
    <Empty
      className="inbox-empty" image={Empty.PRESENTED_IMAGE_SIMPLE} data-testid="empty"
      description={isFiltered ? strings.noMatches : strings.emptyTabs[tab]}
    >
      {isFiltered ? <Button onClick={() => applyFilters({ tab, order })}>{strings.clearFilters}</Button> : <DoneToday />}
      {tab === "pending" && !isFiltered && (
        <>
          <p className="quiet">{strings.emptyHint}</p>
          {!isAuditor && <Link to="/threads" testId="start-agent-link">{strings.startAgent}</Link>}
        </>
      )}
    </Empty>
  );
}
