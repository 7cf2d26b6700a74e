import { Button, Empty, Alert, type InputRef } from "antd";
import type { RefObject } from "react";
import { type Filters, isUrgentFirst } from "../api/lists";
import { usePauses } from "../api/pauses";
import { useCounts } from "../api/requests";
import { useSession } from "../api/session";
import { Link } from "../base/router";
import { PauseAlerts } from "../pauses/pause-alerts";
import { useStrings } from "../strings";
import { explain, Problem } from "../widgets/problem";
import { SlowNotice } from "../widgets/slow-notice";
import { BulkBar } from "./bulk-bar";
import { applyFilters, isFiltered as isNarrowed, filtersIn } from "./inbox-url";
import { RowSkeleton } from "./row-skeleton";
import { Rows } from "./rows";
import { Toolbar } from "./toolbar";
import type { InboxState } from "./use-inbox";
import type { ListActions } from "./use-list-actions";

function DoneToday() {
  const strings = useStrings();
  const today = useCounts()?.today;
  if (!today || today === "0") return null;
  return <p data-testid="done-today">{strings.doneToday(today)}</p>;
}

/** An empty list, with the number of requests done today. */
function EmptyList({ filters }: { filters: Filters }) {
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

interface RequestListProps {
  inbox: InboxState;
  actions: ListActions;
}

function ListSkeleton({ hasSections }: { hasSections: boolean }) {
  const strings = useStrings();
  const shapes = Array.from({ length: 8 }, (_, number) => number);
  return <>{hasSections && <div className="inbox-section" />}<SlowNotice /><output aria-label={strings.loading}>{shapes.map((number) => <RowSkeleton key={number} />)}</output></>;
}

function Content({ inbox, actions }: RequestListProps) {
  const { list, view, isStale, filters } = inbox;
  // While one types, the previous results stay; rows of another tab would be wrong.
  const isStill = !isStale || (filtersIn(view.listKey).tab === filters.tab && view.rows.length > 0);
  if (list.error && !list.data) return <div className="inbox-error"><Problem error={list.error} retry={() => void list.refetch()} /></div>;
  if (view.listed === undefined || !isStill) return <ListSkeleton hasSections={isUrgentFirst(filters)} />;
  if (view.rows.length === 0) return <EmptyList filters={filters} />;
  return <Rows key={view.listKey} inbox={inbox} actions={actions} />;
}

/** A banner above the rows while the list cannot be refreshed. */
function ListErrorBanner({ list }: Pick<InboxState, "list">) {
  const strings = useStrings();
  if (!list.error || !list.data || list.isFetchNextPageError) return null;
  const again = <Button size="small" onClick={() => void list.refetch()}>{strings.retry}</Button>;
  return <Alert banner type="warning" data-testid="list-error" title={explain(list.error, strings)} action={again} />;
}

interface WholeProps extends RequestListProps {
  search: RefObject<InputRef | null>;
  isIdle: boolean;
}

/** All pauses of the tenant, above the inbox. */
function TenantPauses() {
  return <PauseAlerts pauses={usePauses()} banner />;
}

export function RequestList({ inbox, actions, search, isIdle }: WholeProps) {
  const strings = useStrings();
  return (
    <section className="inbox-list" aria-label={strings.requests}>
      <h1 className="visually-hidden">{strings.inbox}</h1>
      <Toolbar inbox={inbox} actions={actions} search={search} isIdle={isIdle} />
      <ListErrorBanner list={inbox.list} />
      <TenantPauses />
      <div className="inbox-content" data-late={inbox.isStale} aria-busy={inbox.isStale} {...inbox.activityHandlers}><Content inbox={inbox} actions={actions} /></div>
      <BulkBar inbox={inbox} />
    </section>
  );
}
