import { Progress, theme } from "antd";
import type { Request } from "../api/types";
import { Countdown, useNow } from "../widgets/time";

const lateFraction = 0.2;

function DeadlineRing({ from, until }: { from: string; until: string }) {
  const { token } = theme.useToken();
  const [began, ends] = [Date.parse(from), Date.parse(until)];
  const left = Math.min(1, Math.max(0, (ends - useNow()) / Math.max(1, ends - began)));
  const late = left <= lateFraction;
  return (
    <span aria-hidden className="deadline-ring" data-testid="deadline-ring" data-late={late}>
      <Progress
        type="circle" percent={left * 100} showInfo={false} size={18} strokeWidth={14} status="normal"
        strokeColor={late ? token.colorWarning : token.colorTextTertiary} railColor={token.colorFillSecondary}
      />
    </span>
  );
}

/** Show the remaining time as a ring and as text; nothing without a deadline or after the end. */
export function Deadline({ request }: { request: Request }) {
  const { due_at: due, expires_at: expires, created_at: createdAt } = request;
  const until = expires ?? due;
  if (request.status !== "pending" || !until) return null;
  return (
    <div className="deadline quiet" data-testid="deadline">
      <DeadlineRing from={createdAt} until={until} />
      <span>
        {due && <Countdown kind="due" until={due} />}
        {due && expires && " · "}
        {expires && <Countdown kind="expires" until={expires} />}
      </span>
    </div>
  );
}
