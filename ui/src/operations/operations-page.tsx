import { Alert, Button, Checkbox, Empty, Flex } from "antd";
import { useRef, useState, type RefObject } from "react";
import { useTroubles } from "../api/operations";
import { useSession } from "../api/session";
import type { Thread } from "../api/types";
import { useStrings } from "../strings";
import { useFrozenRows } from "../widgets/use-frozen-rows";
import { focusedRow, useListKeys } from "../widgets/list-keys";
import { NewRowsButton } from "../widgets/new-rows-button";
import { useKeys } from "../base/keys";
import { Problem } from "../widgets/problem";
import { Loading } from "../widgets/loading";
import { Absences } from "./absences";
import { Pauses } from "./pauses";
import { canRetry, rowsOf, type OutcomeRow } from "./outcomes";
import { TroubleRow } from "./trouble-row";
import { useOutcomes } from "./use-outcomes";
import "./operations.css";

/** The selected rows; a row that can no longer be retried is deselected. */
function useSelection(rows: OutcomeRow[]) {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const possible = rows.filter(canRetry);
  const selected = possible.filter(({ id }) => ticked.has(id));
  const select = (id: string, on: boolean) => {
    const next = new Set(ticked);
    if (on) next.add(id);
    else next.delete(id);
    setTicked(next);
  };
  return {
    selected, possible, select,
    toggle: (row: OutcomeRow | undefined) => row && canRetry(row) && select(row.id, !ticked.has(row.id)),
    has: (id: string) => ticked.has(id),
    all: (on: boolean) => setTicked(new Set(on ? possible.map(({ id }) => id) : [])),
  };
}

type Selection = ReturnType<typeof useSelection>;

function BulkControls({ selection, onRetry }: { selection: Selection; onRetry: () => void }) {
  const strings = useStrings();
  const { selected, possible, all } = selection;
  if (possible.length === 0) return null;
  return (
    <div className="trouble-bulk">
      <Checkbox
        checked={selected.length === possible.length} indeterminate={selected.length > 0 && selected.length < possible.length}
        onChange={(event) => all(event.target.checked)} data-testid="select-all"
      >
        {strings.selectAll}
      </Checkbox>
      {selected.length > 0 && (
        <Button type="primary" onClick={onRetry} data-testid="retry-selected">{strings.retrySelected(selected.length)}</Button>
      )}
    </div>
  );
}

function NoTroubles() {
  const strings = useStrings();
  return (
    <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.allRunsHealthy} data-testid="all-well">
      <span className="quiet">{strings.allRunsHealthyHint}</span>
    </Empty>
  );
}

/** Bind the keys for the focused row; without admin rights they only move the focus. */
function useTroubleKeys(list: RefObject<HTMLElement | null>, acts: false | { tick: () => void; retry: () => void; abandon: () => void }) {
  const strings = useStrings();
  useKeys(strings.operations, [
    ...useListKeys(list, strings.nextRun, strings.previousRun),
    ...(acts ? [
      { key: "x", label: strings.selectRun, run: acts.tick },
      { key: "r", label: strings.retryRun, run: acts.retry, once: true },
      { key: "a", label: strings.stopActions.abandon.open, run: acts.abandon, once: true },
    ] : []),
  ]);
}

function Troubles({ isAdmin }: { isAdmin: boolean }) {
  const strings = useStrings();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useTroubles();
  const troubles = data?.pages.flatMap((page) => page.items) ?? [];
  const { outcomes, retry, abandoned, clear } = useOutcomes(troubles);
  const newest = rowsOf(troubles, outcomes);
  const { rows, newCount, showNew, handlers } = useFrozenRows(newest);
  const selection = useSelection(rows);
  const [stopping, setStopping] = useState<string>();
  const list = useRef<HTMLUListElement>(null);

  const retryChosen = (row: OutcomeRow | undefined) => {
    retry(selection.selected.length > 0 ? selection.selected : row && canRetry(row) ? [row] : []);
    selection.all(false);
  };
  const at = () => rows.find(({ id }) => id === focusedRow(list)?.dataset.id);
  useTroubleKeys(list, isAdmin && {
    tick: () => selection.toggle(at()), retry: () => retryChosen(at()), abandon: () => setStopping(at()?.id),
  });
  if (error && !data) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Loading paragraph={{ rows: 6 }} />;
  const actionsOf = (row: OutcomeRow) => isAdmin ? {
    selected: selection.has(row.id) && canRetry(row),
    select: (on: boolean) => selection.select(row.id, on),
    retry: () => retry([row]),
    askAgain: () => retry([row], "ask-again"),
    stopping: stopping === row.id && !row.isSettled,
    stop: (on: boolean) => setStopping(on ? row.id : undefined),
    abandoned: (thread: Thread) => {
      setStopping(undefined);
      abandoned(thread);
    },
  } : undefined;
  return (
    <>
      {isAdmin && <BulkControls selection={selection} onRetry={() => retryChosen(undefined)} />}
      <div className="rows-container" {...handlers}>
        <NewRowsButton label={strings.newTroubles(newCount)} count={newCount} onClick={showNew} />
        {rows.length === 0 ? <NoTroubles /> : (
          <ul ref={list} className="troubles" aria-label={strings.needAttention}>
            {rows.map((row) => <TroubleRow key={row.id} row={row} actions={actionsOf(row)} />)}
          </ul>
        )}
      </div>
      <Flex gap="small" wrap>
        {rows.some(({ isSettled }) => isSettled) && <Button onClick={clear} data-testid="clear-settled">{strings.clearOutcomes}</Button>}
        {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{strings.more}</Button>}
      </Flex>
    </>
  );
}

/** The runs that cannot continue by themselves, with the actions of an admin. */
export default function OperationsPage() {
  const strings = useStrings();
  const { data: session } = useSession();
  const isAdmin = session?.role === "admin";
  return (
    <div className="page-column">
      <h1>{strings.operations}</h1>
      {session && !isAdmin && <Alert type="info" showIcon title={strings.adminsOnly} data-testid="read-only" />}
      <Pauses isAdmin={isAdmin} />
      <Absences isAdmin={isAdmin} isVisible={isAdmin || session?.role === "auditor"} />
      <h2>{strings.needAttention}</h2>
      <Troubles isAdmin={isAdmin} />
    </div>
  );
}
