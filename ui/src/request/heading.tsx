import { Tag } from "antd";
import { useEffect, useRef } from "react";
import type { Request } from "../api/types";
import { AgentText } from "../widgets/agent-text";
import { Link, threadPagePath } from "../widgets/router";
import { visible } from "../widgets/visible";
import { Deadline } from "./deadline";
import { atTheGate } from "./gate";
import { useHolder } from "./holding";
import { actorName, isThread, namesOf } from "./people";
import { isBare } from "./title";
import { Ago } from "./when";
import { useWords } from "./words";

interface HeadingProps {
  id: string;
  request: Request;
  focus: boolean;
  threadLink: boolean;
}

/** Title, and who asked when, until when, for whom, and who holds it. */
export function Heading({ id, request, focus, threadLink }: HeadingProps) {
  const strings = useWords();
  const title = useRef<HTMLHeadingElement>(null);
  const holder = useHolder(request);
  useEffect(() => {
    if (focus) title.current?.focus();
  }, [focus]);
  const { priority } = request;
  const names = namesOf(request, strings);
  return (
    <header className="heading">
      <h2 ref={title} id={id} tabIndex={-1}><AgentText text={isBare(request) ? strings.erasedTitle : atTheGate(request.title, request, strings)} /></h2>
      <Deadline request={request} />
      <div className="meta">
        <Tag variant="outlined">{strings.kinds[request.kind]}</Tag>
        {priority && priority !== "normal" && <Tag {...(priority !== "low" && { color: "error" })}>{strings.priority[priority]}</Tag>}
        {request.asked_by && !isThread(request.asked_by) && <span>{strings.askedBy(actorName(request.asked_by, strings))}</span>}
        <Ago at={request.created_at} />
        {names && <span data-testid="assigned-to">{strings.assignedTo(names)}</span>}
        {holder && <span data-testid="claimed-by">{strings.claimedBy(visible(holder.name))}</span>}
        {request.thread_id && threadLink && (
          <Link to={threadPagePath(request.thread_id)}>{strings.thread} {visible(request.thread_id)}</Link>
        )}
      </div>
    </header>
  );
}
