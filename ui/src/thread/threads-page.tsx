import { Segmented, Select, Button, Empty } from "antd";
import { useState, useEffect, useRef } from "react";
import { useSession } from "../api/session";
import { useAgents, type ThreadFilters, useRequestsByThread, useThreads } from "../api/threads";
import type { ThreadStatus, Request, ThreadSummary } from "../api/types";
import { useMedia } from "../base/browser";
import { useKeys } from "../base/keys";
import { go, useSearch, Link, threadPagePath } from "../base/router";
import { visible } from "../base/visible";
import { titleOf } from "../request/outcome";
import { useStrings } from "../strings";
import { reasonText } from "../strings/catalogue";
import { useHintOnce } from "../widgets/hints";
import { useFrozenRows, useListKeys } from "../widgets/list-keys";
import { Loading } from "../widgets/loading";
import { NewRowsButton } from "../widgets/new-rows-button";
import { Problem } from "../widgets/problem";
import { shortTime } from "../widgets/time-format";
import { StartAgent } from "./start-agent";
import { ThreadStatusTag } from "./status-tag";
import "./thread.css";

type Status = ThreadStatus | "all";
const statuses: Status[] = ["all", "running", "interrupted", "error", "done", "idle"];

/** The filters in the URL, and how to change them. */
export function useFilters(): [ThreadFilters, (filters: ThreadFilters) => void] {
  const search = new URLSearchParams(useSearch());
  const status = statuses.find((one) => one === search.get("status"));
  const agent = search.get("agent")?.trim();
  const change = (next: ThreadFilters) => {
    const query = new URLSearchParams({ ...(next.status && { status: next.status }), ...(next.agent && { agent: next.agent }) });
    go(query.size > 0 ? `/threads?${query.toString()}` : "/threads", { replace: true });
  };
  return [{ status: status === "all" ? undefined : status, agent: agent === "" ? undefined : agent }, change];
}

interface FilterProps {
  filters: ThreadFilters;
  onChange: (filters: ThreadFilters) => void;
}

function StatusFilter({ filters, onChange }: FilterProps) {
  const strings = useStrings();
  const narrow = useMedia("(max-width: 700px)");
  const options = statuses.map((one) => ({ value: one, label: one === "all" ? (narrow ? strings.anyStatusNarrow : strings.anyStatus) : strings.threadStatuses[one] }));
  const choose = (next: Status) => onChange({ ...filters, status: next === "all" ? undefined : next });
  const value: Status = filters.status ?? "all";
  const common = { value, onChange: choose, options, "aria-label": strings.statusFilter, "data-testid": "status-filter" };
  return narrow ? <Select {...common} className="status-filter" /> : <Segmented<Status> {...common} />;
}

/** Choose one of the agents that can be started, or type another. */
function AgentFilter({ filters, onChange }: FilterProps) {
  const strings = useStrings();
  const agents = useAgents().data?.items ?? [];
  const [typed, setTyped] = useState("");
  const names = [...new Set([...agents.map(({ name }) => name), filters.agent ?? "", typed])].filter((name) => name !== "").sort();
  const options = [{ value: "", label: strings.anyAgent }, ...names.map((name) => ({ value: name, label: visible(name) }))];
  return (
    <Select<string>
      className="agent-filter" aria-label={`${strings.show}: ${strings.agent}`} popupMatchSelectWidth={false} data-testid="agent-filter"
      showSearch={{ onSearch: (text) => setTyped(text.trim()) }} value={filters.agent ?? ""} options={options}
      onChange={(agent) => onChange({ ...filters, agent: agent || undefined })}
    />
  );
}

function TimeCell({ label, at, className }: { label: string; at: string; className?: string }) {
  const { language } = useStrings();
  return (
    <span className={`thread-cell ${className ?? ""}`}>
      <span className="thread-cell-label">{label} </span>
      <time dateTime={at} title={at}>{shortTime(at, language)}</time>
    </span>
  );
}

/** The most useful line about a thread: its problem, its open question or its title. */
function ThreadSummaryLine({ thread, requests }: { thread: ThreadSummary; requests: Request[] | undefined }) {
  const strings = useStrings();
  const why = thread.status === "error" ? thread.error?.split("\n")[0] : thread.attention;
  const trouble = why && reasonText(why, strings);
  if (trouble) return <span className="thread-summary error-text" title={visible(trouble)}>{visible(trouble)}</span>;
  const [first, ...more] = thread.status === "interrupted" ? (requests ?? []) : [];
  if (!first) return thread.title && <span className="thread-summary" title={visible(thread.title)}>{visible(thread.title)}</span>;
  return (
    <span className="thread-summary" title={titleOf(first, strings)}>
      {strings.openQuestionColumn}: {titleOf(first, strings)}{more.length > 0 && ` +${more.length}`}
    </span>
  );
}

interface ThreadRowProps {
  thread: ThreadSummary;
  openRequests: Request[] | undefined;
}

function ThreadRow({ thread, openRequests }: ThreadRowProps) {
  const strings = useStrings();
  return (
    <li data-testid="thread-row" data-id={thread.id} data-status={thread.status}>
      <Link to={threadPagePath(thread.id)} className="thread-link">
        <span className="thread-cell"><ThreadStatusTag status={thread.status} /></span>
        <span className="thread-name">
          <span className="thread-title">{visible(thread.id)}</span>
          <ThreadSummaryLine thread={thread} requests={openRequests} />
        </span>
        <span className="thread-cell">{visible(thread.agent)}</span>
        <TimeCell label={strings.started} at={thread.created_at} className="thread-started" />
        <TimeCell label={strings.lastChange} at={thread.updated_at} />
      </Link>
    </li>
  );
}

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
