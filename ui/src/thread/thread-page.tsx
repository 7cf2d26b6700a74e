import { Collapse } from "antd";
import { Suspense, useEffect, useMemo, useRef, type ReactNode } from "react";
import { isStatus } from "../api/call";
import { useThread } from "../api/threads";
import type { Thread } from "../api/types";
import { AgentPauses } from "../pauses/pause-alerts";
import { ThreadErasureNote } from "../request/notices";
import { RequestDetail } from "../request/request-detail";
import { useStrings } from "../strings";
import { useKeys } from "../base/keys";
import { lazyWithRetry } from "../base/lazy";
import { useMedia } from "../base/media";
import { Problem } from "../widgets/problem";
import { go, Link } from "../base/router";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import { LiveAnnouncer } from "./live-announcer";
import { ThreadTimeline } from "./thread-timeline";
import { ThreadFooter } from "./thread-footer";
import { ThreadDetails } from "./thread-details";
import { ThreadStatusTag } from "./status-tag";
import type { Item, StreamState } from "./stream";
import { useStream } from "./use-stream";
import "./thread.css";

const RunPicture = lazyWithRetry(() => import("./run-picture"));

/** Return pending requests that the stream does not contain (yet), so that they can always be answered. */
function requestsOutsideStream(thread: Thread | undefined, items: Item[]): string[] {
  const placed = new Set(items.flatMap((item) => (item.kind === "pause" ? item.requests : [])));
  return (thread?.pending ?? []).map((request) => request.id).filter((id) => !placed.has(id));
}

/** A panel beside the stream, or collapsed above it on a narrow screen. */
function DetailsPanel({ children }: { children: ReactNode }) {
  const strings = useStrings();
  const isWide = useMedia("(min-width: 1100px)");
  if (isWide) return <aside className="thread-details" aria-label={strings.details}>{children}</aside>;
  return (
    <details className="thread-details">
      <summary>{strings.details}</summary>
      <div>{children}</div>
    </details>
  );
}

function ThreadHeader({ id, thread }: { id: string; thread: Thread | undefined }) {
  const strings = useStrings();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <header className="thread-head">
      <Link to="/threads" className="back">← {strings.threads}</Link>
      <h1 ref={title} tabIndex={-1} title={visible(id)}>{visible(id)}</h1>
      {thread && <ThreadStatusTag status={thread.status} testId="thread-status" />}
    </header>
  );
}

/** The run as a picture, loaded when a person opens it. */
function RunPictureSection({ stream }: { stream: StreamState }) {
  const strings = useStrings();
  const picture = (
    <Suspense fallback={<Loading />}>
      <RunPicture events={stream.events} isLive={stream.phase === "running" || stream.phase === "interrupted"} />
    </Suspense>
  );
  return <Collapse ghost size="small" destroyOnHidden styles={{ header: { paddingInline: 0 }, body: { paddingInline: 0 } }} items={[{ key: "picture", label: strings.runPicture, children: picture }]} data-testid="open-picture" />;
}

/** One thread, live: the agent's output, its questions in place, and the outcome. */
export default function ThreadPage({ id }: { id: string }) {
  const strings = useStrings();
  const { stream, interruption } = useStream(id);
  const { data: thread, error, refetch } = useThread(id, stream.phase === "running");
  const openRequests = useMemo(() => new Set(thread?.pending.map((request) => request.id)), [thread]);
  useKeys(strings.threads, [{ key: "Escape", label: strings.backToThreads, run: () => go("/threads") }]);
  const { items } = stream;
  return (
    <div className="thread">
      <ThreadHeader id={id} thread={thread} />
      <div className="thread-stream">
        {!(thread && isStatus(error, 0)) && <Problem error={error} retry={() => void refetch()} />}
        {items.length === 0 && !error && (thread ? <p className="quiet">{strings.streamEmpty}</p> : <Loading />)}
        {thread && <AgentPauses agent={thread.agent} />}
        {thread?.erased && <ThreadErasureNote erased={thread.erased} />}
        {items.length > 0 && <RunPictureSection stream={stream} />}
        <ThreadTimeline items={items} openRequests={openRequests}>
          {requestsOutsideStream(thread, items).map((request) => (
            <section key={request} className="pause" data-testid="pause"><RequestDetail id={request} isInThread /></section>
          ))}
          {thread && <ThreadFooter thread={thread} items={items} interruption={interruption} />}
        </ThreadTimeline>
        <LiveAnnouncer items={items} />
      </div>
      <DetailsPanel><ThreadDetails thread={thread} stream={stream} /></DetailsPanel>
    </div>
  );
}
