import type { Request, ThreadSummary } from "../api/types";
import { titleOf } from "../request/outcome";
import { useStrings } from "../strings";
import { Link, threadPagePath } from "../base/router";
import { reasonText } from "../strings/catalogue";
import { visible } from "../base/visible";
import { ThreadStatusTag } from "./status-tag";
import { shortTime } from "../widgets/time-format";

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

export function ThreadRow({ thread, openRequests }: ThreadRowProps) {
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
