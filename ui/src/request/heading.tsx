import { Tag } from "antd";
import { useEffect, useRef } from "react";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { AgentText } from "../widgets/agent-text";
import { Link, threadPagePath } from "../widgets/router";
import { Clock, Countdown } from "../widgets/time";
import { visible } from "../widgets/visible";

interface HeadingProps {
  request: Request;
  focus: boolean;
  threadLink: boolean;
}

function Deadline({ request }: { request: Request }) {
  if (request.status !== "pending") return null;
  return (
    <>
      {request.due_at && <Countdown kind="due" until={request.due_at} />}
      {request.expires_at && <Countdown kind="expires" until={request.expires_at} />}
    </>
  );
}

/** Title, and who asked when, until when, for whom. */
export function Heading({ request, focus, threadLink }: HeadingProps) {
  const strings = useStrings();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (focus) title.current?.focus();
  }, [focus]);
  const { priority } = request;
  return (
    <header>
      <h2 ref={title} tabIndex={-1}><AgentText text={request.title} /></h2>
      <div className="meta">
        <Tag>{request.kind}</Tag>
        {(priority === "high" || priority === "urgent") && <Tag color="error">{strings.priority[priority]}</Tag>}
        <span>
          {strings.askedAt} <Clock at={request.created_at} />
          {request.asked_by && ` ${strings.askedBy(visible(request.asked_by))}`}
        </span>
        {request.assignee && <span>{strings.assignedTo(visible(request.assignee))}</span>}
        {request.claimed_by && <span data-testid="claimed-by">{strings.claimedBy(visible(request.claimed_by))}</span>}
        {request.thread_id && threadLink && (
          <Link to={threadPagePath(request.thread_id)}>{strings.thread} {visible(request.thread_id)}</Link>
        )}
        <Deadline request={request} />
      </div>
    </header>
  );
}
