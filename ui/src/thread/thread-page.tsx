import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { isStatus } from "../api/call";
import { useThread } from "../api/threads";
import type { Thread } from "../api/types";
import { ThreadErasureNote } from "../request/erasure-note";
import { RequestDetail } from "../request/request-detail";
import { useStrings } from "../strings";
import { useKeys } from "../widgets/keys";
import { useMedia } from "../widgets/media";
import { Problem } from "../widgets/problem";
import { go, Link } from "../widgets/router";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { Announcer } from "./announcer";
import { Column } from "./column";
import { Foot } from "./foot";
import { Side } from "./side";
import { ThreadStatusTag } from "./status-tag";
import type { Item } from "./stream";
import { useStream } from "./use-stream";
import "./thread.css";

/** Pending requests that the stream has not shown (yet): an answerable question must never be out of reach. */
function unshown(thread: Thread | undefined, items: Item[]): string[] {
  const shown = new Set(items.flatMap((item) => (item.kind === "pause" ? item.requests : [])));
  return (thread?.pending ?? []).map((request) => request.id).filter((id) => !shown.has(id));
}

/** Beside the stream where there is room, else folded above it. */
function Aside({ children }: { children: ReactNode }) {
  const strings = useStrings();
  const roomy = useMedia("(min-width: 1100px)");
  if (roomy) return <aside className="thread-side" aria-label={strings.details}>{children}</aside>;
  return (
    <details className="thread-side">
      <summary>{strings.details}</summary>
      <div>{children}</div>
    </details>
  );
}

function Head({ id, thread }: { id: string; thread: Thread | undefined }) {
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

/** One thread, live: what the agent says and does, its questions in place, and how it ended. */
export default function ThreadPage({ id }: { id: string }) {
  const strings = useStrings();
  const { stream, lost } = useStream(id);
  const { data: thread, error, refetch } = useThread(id, stream.phase === "running");
  const open = useMemo(() => new Set(thread?.pending.map((request) => request.id)), [thread]);
  useKeys(strings.threads, [{ key: "Escape", label: strings.toThreads, run: () => go("/threads") }]);
  const { items } = stream;
  return (
    <div className="thread">
      <Head id={id} thread={thread} />
      <div className="thread-stream">
        {!(thread && isStatus(error, 0)) && <Problem error={error} retry={() => void refetch()} />}
        {items.length === 0 && !error && (thread ? <p className="quiet">{strings.streamStarts}</p> : <Loading />)}
        {thread?.erased && <ThreadErasureNote erased={thread.erased} />}
        <Column items={items} open={open}>
          {unshown(thread, items).map((request) => (
            <section key={request} className="pause" data-testid="pause"><RequestDetail id={request} isInThread /></section>
          ))}
          {thread && <Foot thread={thread} items={items} lost={lost} />}
        </Column>
        <Announcer items={items} />
      </div>
      <Aside><Side thread={thread} stream={stream} /></Aside>
    </div>
  );
}
