import { Tag } from "antd";
import { useEffect, useRef } from "react";
import type { Request } from "../api/types";
import { useRequestStrings } from "../strings/use-request-strings";
import { AgentText } from "../widgets/agent-text";
import { Link, threadPagePath } from "../widgets/router";
import { visible } from "../widgets/visible";
import { actorName, isThreadActor, namesOf, useClaimant } from "./assignment";
import { Deadline } from "./deadline";
import { translateGateText } from "./finish-gate";
import { isFullyErased } from "./outcome";
import { RelativeTime } from "./timestamp";

interface RequestHeaderProps {
  id: string;
  request: Request;
  focus: boolean;
  threadLink: boolean;
}

/** The header of a request: title, deadline, requester, assignees and claimant. */
export function RequestHeader({ id, request, focus, threadLink }: RequestHeaderProps) {
  const strings = useRequestStrings();
  const title = useRef<HTMLHeadingElement>(null);
  const claimant = useClaimant(request);
  useEffect(() => {
    if (focus) title.current?.focus();
  }, [focus]);
  const { priority } = request;
  const names = namesOf(request, strings);
  return (
    <header className="heading">
      <h2 ref={title} id={id} tabIndex={-1}><AgentText text={isFullyErased(request) ? strings.erasedTitle : translateGateText(request.title, request, strings)} /></h2>
      <Deadline request={request} />
      <div className="meta">
        <Tag variant="outlined">{strings.kinds[request.kind]}</Tag>
        {priority && priority !== "normal" && <Tag {...(priority !== "low" && { color: "error" })}>{strings.priority[priority]}</Tag>}
        {request.asked_by && !isThreadActor(request.asked_by) && <span>{strings.requestedBy(actorName(request.asked_by, strings))}</span>}
        <RelativeTime at={request.created_at} />
        {names && <span data-testid="assigned-to">{strings.assignedTo(names)}</span>}
        {claimant && <span data-testid="claimed-by">{strings.claimedBy(visible(claimant.name))}</span>}
        {request.thread_id && threadLink && (
          <Link to={threadPagePath(request.thread_id)}>{strings.thread} {visible(request.thread_id)}</Link>
        )}
      </div>
    </header>
  );
}
