import { Button, Empty } from "antd";
import { useEffect, useRef, useState } from "react";
import { useSession } from "../api/session";
import { useRequestsByThread, useThreads, type ThreadFilters } from "../api/threads";
import { useHintOnce } from "../widgets/hints";
import { useStrings } from "../strings";
import { useKeys } from "../base/keys";
import { useMedia } from "../base/media";
import { Problem } from "../widgets/problem";
import { Loading } from "../widgets/loading";
import { StartAgent } from "./start-agent";
import { AgentFilter, StatusFilter, useFilters } from "./thread-filters";
import { ThreadRow } from "./thread-row";
import { useFrozenRows } from "../widgets/use-frozen-rows";
import { NewRowsButton } from "../widgets/new-rows-button";
import { useListKeys } from "../widgets/list-keys";
import "./thread.css";

/** Visual column headings; each row has its own labels for screen readers. */
function ColumnHeadings() {
  const strings = useStrings();
  const names = [strings.statusFilter, strings.threadColumn, strings.agent, strings.started, strings.lastChange];
  return <div className="thread-columns" aria-hidden="true">{names.map((name) => <span key={name}>{name}</span>)}</div>;
}

/** The cursor of each page up to the current one. */
type PageCursors = (string | null)[];

interface PageProps {
  filters: ThreadFilters;
  cursors: PageCursors;
  onCursors: (place: PageCursors) => void;
  onStart: () => void;
}

function ThreadList({ filters, cursors, onCursors, onStart }: PageProps) {
  const strings = useStrings();
  const { data, error, refetch } = useThreads(filters, cursors.at(-1) ?? null);
  const openRequests = useRequestsByThread(data?.items ?? []).data;
  const list = useRef<HTMLUListElement>(null);
  const { rows, newCount, showNew, handlers } = useFrozenRows(data?.items ?? []);
  useKeys(strings.threads, [
    ...useListKeys(list, strings.nextThread, strings.previousThread), { key: "n", label: strings.startAgent, run: onStart },
  ]);
  if (error && !data) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Loading paragraph={{ rows: 8 }} />;
  const next = data.next;
  return (
    <>
      {rows.length === 0 && (
        <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} data-testid="no-threads" description={filters.status || filters.agent ? strings.emptyFilter(next !== null) : strings.emptyThreads} />
      )}
      {rows.length > 0 && <ColumnHeadings />}
      <div className="rows-container" {...handlers}>
        <NewRowsButton label={strings.newThreads(newCount)} count={newCount} onClick={showNew} />
        <ul ref={list} className="thread-list" aria-label={strings.threads}>
          {rows.map((thread) => <ThreadRow key={thread.id} thread={thread} openRequests={openRequests?.get(thread.id)} />)}
        </ul>
      </div>
      {(cursors.length > 1 || next) && (
        <nav className="thread-pages" aria-label={strings.threads}>
          <Button disabled={cursors.length === 1} onClick={() => onCursors(cursors.slice(0, -1))}>{strings.newerThreads}</Button>
          <Button disabled={!next} onClick={() => onCursors([...cursors, next])} data-testid="older-threads">{strings.olderThreads}</Button>
        </nav>
      )}
    </>
  );
}

/** The start form: always shown on a wide screen, else opened by a button. Auditors start nothing. */
function useStartForm() {
  const isWide = useMedia("(min-width: 1100px)");
  const isAuditor = useSession().data?.role === "auditor";
  const [isOpen, setOpen] = useState(false);
  const [calls, setCalls] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (calls > 0) place.current?.querySelector<HTMLElement>("input")?.focus();
  }, [calls]);
  const open = () => {
    setOpen(true);
    setCalls((count) => count + 1);
  };
  if (isAuditor) return { place, open: () => undefined, form: false, toggle: undefined };
  return { place, open, form: isWide || isOpen, toggle: isWide ? undefined : () => (isOpen ? setOpen(false) : open()) };
}

/** The list of threads, and the form that starts one. */
export default function ThreadsPage() {
  useHintOnce("threads", true);
  const strings = useStrings();
  const [filters, setFilters] = useFilters();
  const [place, setPlace] = useState<PageCursors>([null]);
  const { form, place: start, open, toggle } = useStartForm();
  const change = (next: ThreadFilters) => {
    setFilters(next);
    setPlace([null]);
  };
  return (
    <div className="threads">
      <section className="threads-list">
        <div className="threads-head">
          <h1>{strings.threads}</h1>
          {toggle && <Button type="primary" aria-expanded={form} onClick={toggle} data-testid="open-start">{strings.startAgent}</Button>}
          <StatusFilter filters={filters} onChange={change} />
          <AgentFilter filters={filters} onChange={change} />
        </div>
        <ThreadList key={`${filters.status} ${filters.agent} ${place.length}`} filters={filters} cursors={place} onCursors={setPlace} onStart={open} />
      </section>
      {form && <div ref={start} className="threads-start"><StartAgent /></div>}
    </div>
  );
}
