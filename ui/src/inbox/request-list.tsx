import { Alert, Button, type InputRef } from "antd";
import type { RefObject } from "react";
import { useStrings } from "../strings";
import { explain, Problem } from "../widgets/problem";
import { filtersIn } from "./address";
import { BulkBar } from "./bulk-bar";
import { EmptyList } from "./empty";
import { NotYet } from "../widgets/loading";
import { RowSkeleton } from "./row-skeleton";
import { Rows } from "./rows";
import { Toolbar } from "./toolbar";
import type { Acts } from "./use-acts";
import type { InboxState } from "./use-inbox";

interface RequestListProps {
  inbox: InboxState;
  acts: Acts;
}

function Waiting() {
  const strings = useStrings();
  const shapes = Array.from({ length: 8 }, (_, number) => number);
  return <><NotYet /><output aria-label={strings.loading}>{shapes.map((number) => <RowSkeleton key={number} />)}</output></>;
}

function Content({ inbox, acts }: RequestListProps) {
  const { list, shown, isLate, filters } = inbox;
  // While one types, what was found before stays; another tab's rows would be a lie.
  const isStill = !isLate || (filtersIn(shown.of).tab === filters.tab && shown.rows.length > 0);
  if (list.error && !list.data) return <div className="inbox-said"><Problem error={list.error} retry={() => void list.refetch()} /></div>;
  if (shown.listed === undefined || !isStill) return <Waiting />;
  if (shown.rows.length === 0) return <EmptyList filters={filters} />;
  return <Rows key={shown.of} inbox={inbox} acts={acts} />;
}

/** What went wrong while there is something to look at: said above it, and it stays. */
function Trouble({ list }: Pick<InboxState, "list">) {
  const strings = useStrings();
  if (!list.error || !list.data || list.isFetchNextPageError) return null;
  const again = <Button size="small" onClick={() => void list.refetch()}>{strings.retry}</Button>;
  return <Alert banner type="warning" data-testid="list-error" title={explain(list.error, strings)} action={again} />;
}

interface WholeProps extends RequestListProps {
  search: RefObject<InputRef | null>;
  isIdle: boolean;
}

export function RequestList({ inbox, acts, search, isIdle }: WholeProps) {
  const strings = useStrings();
  return (
    <section className="inbox-list" aria-label={strings.requests}>
      <h1 className="visually-hidden">{strings.inbox}</h1>
      <Toolbar inbox={inbox} acts={acts} search={search} isIdle={isIdle} />
      <Trouble list={inbox.list} />
      <div className="inbox-content" data-late={inbox.isLate} aria-busy={inbox.isLate} {...inbox.watch}><Content inbox={inbox} acts={acts} /></div>
      <BulkBar inbox={inbox} />
    </section>
  );
}
