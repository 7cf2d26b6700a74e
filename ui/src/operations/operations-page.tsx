import { Button, Flex, Input, Select, Alert, Checkbox, Empty } from "antd";
import { useState, useEffect, useId, useRef, type RefObject } from "react";
import { useAbsences, useEndAbsence } from "../api/absences";
import { usePause, usePauses, useResume } from "../api/pauses";
import { useSession } from "../api/session";
import { useAgents } from "../api/threads";
import type { Absence, Pause, Thread } from "../api/types";
import { useKeys } from "../base/keys";
import { visible } from "../base/visible";
import { PauseLine } from "../pauses/pause-line";
import { useOperationsStrings } from "../strings/operations";
import { useFrozenRows, focusedRow, useListKeys } from "../widgets/list-keys";
import { Loading } from "../widgets/loading";
import { MomentInput } from "../widgets/moment-input";
import { NewRowsButton } from "../widgets/new-rows-button";
import { Problem } from "../widgets/problem";
import { clock } from "../widgets/time";
import { EndpointCounts } from "./endpoint-counts";
import { useTroubles, canRetry, rowsOf, type OutcomeRow, TroubleRow, useOutcomes } from "./trouble-row";
import "./operations.css";

/** One absence; an administrator ends it after a confirmation. */
function AbsenceItem({ absence, isAdmin }: { absence: Absence; isAdmin: boolean }) {
  const { absences: away, language } = useOperationsStrings();
  const end = useEndAbsence();
  const [isConfirming, setConfirming] = useState(false);
  const { person, deputy, until } = absence;
  return (
    <li data-testid="absence-of" data-person={person}>
      <div>{away.standsFor(visible(deputy), visible(person), clock(until, language))}</div>
      <Problem error={end.error} />
      {isAdmin && !isConfirming && <Button size="small" onClick={() => setConfirming(true)} data-testid="end-absence">{away.end}</Button>}
      {isConfirming && (
        <section className="confirm-stop" aria-label={away.endTitle(visible(person))}>
          <p>{away.endTitle(visible(person))}</p>
          <Flex gap="small" wrap>
            <Button type="primary" loading={end.isPending} onClick={() => end.mutate(absence)} data-testid="confirm-end-absence">{away.confirmEnd}</Button>
            <Button autoFocus onClick={() => setConfirming(false)} data-testid="keep-absence">{away.keep}</Button>
          </Flex>
        </section>
      )}
    </li>
  );
}

/** Who is away and who stands for whom, for auditors and administrators. */
export function Absences({ isAdmin, isVisible }: { isAdmin: boolean; isVisible: boolean }) {
  const { absences: away } = useOperationsStrings();
  const { data, error } = useAbsences(isVisible);
  const absences = data?.items ?? [];
  if (!error && absences.length === 0) return null;
  return (
    <section className="pause-section" aria-label={away.all}>
      <h2>{away.all}</h2>
      <Problem error={error} />
      <ul className="pause-list">{absences.map((absence) => <AbsenceItem key={absence.person} absence={absence} isAdmin={isAdmin} />)}</ul>
    </section>
  );
}

/** The confirmation before agents are paused: which, why and until when. */
function PauseForm({ onBack }: { onBack: () => void }) {
  const strings = useOperationsStrings();
  const { pausing: pauses } = strings;
  const id = useId();
  const agents = useAgents().data?.items ?? [];
  const pause = usePause();
  const [agent, setAgent] = useState("");
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState<string>();
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.querySelector("textarea")?.focus(), []);
  const isReady = reason.trim() !== "";
  const confirm = () => {
    if (isReady && !pause.isPending) pause.mutate({ agent: agent || null, reason: reason.trim(), until: until ?? null }, { onSuccess: onBack });
  };
  useKeys(pauses.pauseTitle, [
    { key: "mod+Enter", label: pauses.confirmKey, run: confirm, whileTyping: true, once: true },
    { key: "Escape", label: pauses.back, run: onBack, whileTyping: true },
  ]);
  return (
    <section ref={panel} className="confirm-stop" aria-label={pauses.pauseTitle} data-testid="pause-form">
      <strong>{pauses.pauseTitle}</strong>
      <p>{pauses.consequence}</p>
      <label htmlFor={`${id}-agent`}>{strings.agent}</label>
      <Select
        id={`${id}-agent`} value={agent} onChange={setAgent} data-testid="pause-agent" className="wide" showSearch={{ optionFilterProp: "label" }}
        options={[{ value: "", label: pauses.every }, ...agents.map(({ name, title }) => ({ value: name, label: visible(title || name) }))]}
      />
      <label htmlFor={`${id}-reason`}>{pauses.reason}</label>
      <Input.TextArea
        id={`${id}-reason`} value={reason} required maxLength={2_000} autoSize={{ minRows: 2, maxRows: 6 }} data-testid="pause-reason"
        onChange={(event) => setReason(event.target.value)}
      />
      <label htmlFor={`${id}-until`}>{pauses.until}</label>
      <MomentInput id={`${id}-until`} onChange={setUntil} testId="pause-until" />
      <Problem error={pause.error} />
      <Flex gap="small" wrap>
        <Button danger type="primary" disabled={!isReady} loading={pause.isPending} onClick={confirm} data-testid="confirm-pause">
          {agent ? pauses.confirmOne(visible(agent)) : pauses.confirmAll}
        </Button>
        <Button onClick={onBack} disabled={pause.isPending} data-testid="keep-running">{pauses.back}</Button>
      </Flex>
    </section>
  );
}

/** One pause in force; an administrator ends it after a confirmation. */
function PauseItem({ pause, isAdmin }: { pause: Pause; isAdmin: boolean }) {
  const { pausing: pauses } = useOperationsStrings();
  const resume = useResume();
  const [isConfirming, setConfirming] = useState(false);
  return (
    <li data-testid="pause" data-agent={pause.agent ?? ""}>
      <div><PauseLine pause={pause} /></div>
      <Problem error={resume.error} />
      {isAdmin && !isConfirming && <Button size="small" onClick={() => setConfirming(true)} data-testid="end-pause">{pauses.end}</Button>}
      {isConfirming && (
        <section className="confirm-stop" aria-label={pauses.endTitle}>
          <p>{pauses.endTitle}</p>
          <Flex gap="small" wrap>
            <Button type="primary" loading={resume.isPending} onClick={() => resume.mutate(pause)} data-testid="confirm-end-pause">{pauses.confirmEnd}</Button>
            <Button autoFocus onClick={() => setConfirming(false)} data-testid="keep-pause">{pauses.keep}</Button>
          </Flex>
        </section>
      )}
    </li>
  );
}

/** The pauses in force, and the form that pauses agents. */
function Pauses({ isAdmin }: { isAdmin: boolean }) {
  const { pausing: strings } = useOperationsStrings();
  const pauses = usePauses();
  const [isOpen, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    setTimeout(() => opener.current?.focus());
  };
  useKeys(strings.title, isAdmin && !isOpen ? [{ key: "p", label: strings.open, run: () => setOpen(true), once: true }] : []);
  if (!isAdmin && pauses.length === 0) return null;
  return (
    <section className="pause-section" aria-label={strings.title}>
      <Flex gap="small" wrap align="center" justify="space-between">
        <h2>{strings.title}</h2>
        {isAdmin && !isOpen && <Button danger ref={opener} onClick={() => setOpen(true)} data-testid="open-pause">{strings.open}</Button>}
      </Flex>
      {isOpen && <PauseForm onBack={close} />}
      {pauses.length === 0 && !isOpen && <p className="quiet">{strings.none}</p>}
      {pauses.length > 0 && <ul className="pause-list">{pauses.map((pause) => <PauseItem key={pause.id} pause={pause} isAdmin={isAdmin} />)}</ul>}
    </section>
  );
}

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
  const strings = useOperationsStrings();
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
  const strings = useOperationsStrings();
  return (
    <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.allRunsHealthy} data-testid="all-well">
      <span className="quiet">{strings.allRunsHealthyHint}</span>
    </Empty>
  );
}

/** Bind the keys for the focused row; without admin rights they only move the focus. */
function useTroubleKeys(list: RefObject<HTMLElement | null>, acts: false | { tick: () => void; retry: () => void; abandon: () => void }) {
  const strings = useOperationsStrings();
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
  const strings = useOperationsStrings();
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
  const strings = useOperationsStrings();
  const { data: session } = useSession();
  const isAdmin = session?.role === "admin";
  return (
    <div className="page-column">
      <h1>{strings.operations}</h1>
      {session && !isAdmin && <Alert type="info" showIcon title={strings.adminsOnly} data-testid="read-only" />}
      <Pauses isAdmin={isAdmin} />
      <Absences isAdmin={isAdmin} isVisible={isAdmin || session?.role === "auditor"} />
      <EndpointCounts isVisible={isAdmin || session?.role === "auditor"} />
      <h2>{strings.needAttention}</h2>
      <Troubles isAdmin={isAdmin} />
    </div>
  );
}
