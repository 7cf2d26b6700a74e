import { Tag } from "antd";
import type { Request } from "../api/types";
import { outcomeOf } from "../request/outcome";
import { useStrings } from "../strings";
import { Link, requestPath } from "../widgets/router";
import { Clock, Countdown } from "../widgets/time";
import { visible } from "../widgets/visible";

function Deadline({ request }: { request: Request }) {
  if (request.status !== "pending") return null;
  if (request.expires_at) return <Countdown kind="expires" until={request.expires_at} />;
  return request.due_at ? <Countdown kind="due" until={request.due_at} /> : null;
}

interface RequestRowProps {
  request: Request;
  current: boolean;
}

export function RequestRow({ request, current }: RequestRowProps) {
  const strings = useStrings();
  const { priority } = request;
  return (
    <li data-testid="request-row" data-id={request.id} data-status={request.status}>
      <Link to={requestPath(request.id)} current={current} className="row">
        <span className="row-title">{visible(request.title)}</span>
        <span className="row-facts">
          {(priority === "high" || priority === "urgent") && <Tag color="error">{strings.priority[priority]}</Tag>}
          <span>{request.action ? <code>{visible(request.action.name)}</code> : request.kind}</span>
          <Clock at={request.created_at} />
          {request.claimed_by && <span>{strings.claimedBy(visible(request.claimed_by))}</span>}
          <span className="row-end">{outcomeOf(request, null, strings) ?? <Deadline request={request} />}</span>
        </span>
      </Link>
    </li>
  );
}
