import { Empty, Skeleton } from "antd";
import { useThreads } from "../api/threads";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";
import { Link, threadPagePath } from "../widgets/router";
import { Clock } from "../widgets/time";
import { visible } from "../widgets/visible";
import { StartAgent } from "./start-agent";
import { ThreadStatusTag } from "./status-tag";

function ThreadList() {
  const strings = useStrings();
  const { data, error, refetch } = useThreads();
  if (error && !data) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Skeleton active />;
  if (data.items.length === 0) return <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.emptyThreads} />;
  return (
    <ul className="rows" aria-label={strings.threads}>
      {data.items.map((thread) => (
        <li key={thread.id} data-testid="thread-row" data-id={thread.id}>
          <Link to={threadPagePath(thread.id)} className="row">
            <span className="row-title">{visible(thread.id)}</span>
            <span className="row-facts">
              <ThreadStatusTag status={thread.status} />
              <span>{visible(thread.agent)}</span>
              <Clock at={thread.updated_at} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

export default function ThreadsPage() {
  const strings = useStrings();
  return (
    <div className="column">
      <h1>{strings.threads}</h1>
      <StartAgent />
      <ThreadList />
    </div>
  );
}
