import { Alert, Card } from "antd";
import { useThread } from "../api/threads";
import type { Thread } from "../api/types";
import { RequestDetail } from "../request/request-detail";
import { useStrings } from "../strings";
import { JsonValue } from "../widgets/agent-text";
import { Problem } from "../widgets/problem";
import { Link } from "../widgets/router";
import { visible } from "../widgets/visible";
import { ThreadItem } from "./items";
import { RawEvents } from "./raw-events";
import type { Item } from "./reduce";
import { ThreadStatusTag } from "./status-tag";
import { useStream } from "./use-stream";

/** Pending requests that the stream has not shown (yet): an answerable question must never be out of reach. */
function unshown(thread: Thread | undefined, items: Item[]): string[] {
  const shown = new Set(items.flatMap((item) => (item.kind === "pause" ? item.requests : [])));
  return (thread?.pending ?? []).map((request) => request.id).filter((id) => !shown.has(id));
}

const hasValues = (values: Thread["values"]) =>
  values !== undefined && values !== null && !(typeof values === "object" && Object.keys(values).length === 0);

function Outcome({ thread }: { thread: Thread }) {
  const strings = useStrings();
  return (
    <>
      {thread.attention && <Alert type="warning" showIcon title={visible(thread.attention)} />}
      {thread.error && <Alert type="error" showIcon title={strings.runFailed} description={visible(thread.error)} data-testid="error" />}
      {hasValues(thread.values) && (
        <Card size="small" title={strings.values}><JsonValue value={thread.values} testId="thread-values" /></Card>
      )}
    </>
  );
}

/** One thread, live: what the agent says and does, its questions in place, and how it ended. */
export default function ThreadPage({ id }: { id: string }) {
  const strings = useStrings();
  const stream = useStream(id);
  const { data: thread, error, refetch } = useThread(id, stream.phase === "running");
  return (
    <div className="column">
      <Link to="/threads" className="back">← {strings.threads}</Link>
      <h1>{visible(id)} {thread && <ThreadStatusTag status={thread.status} />}</h1>
      {thread && <div className="quiet">{strings.agent}: {visible(thread.agent)}</div>}
      <Problem error={error} retry={() => void refetch()} />
      <div className="items" role="log" aria-live="polite">
        {stream.items.length === 0 && !error && <p className="quiet">{strings.streamStarts}</p>}
        {stream.items.map((item) => <ThreadItem key={item.key} item={item} />)}
        {unshown(thread, stream.items).map((request) => (
          <section key={request} className="pause"><RequestDetail id={request} inThread /></section>
        ))}
      </div>
      {thread && <Outcome thread={thread} />}
      <RawEvents events={stream.events} />
    </div>
  );
}
