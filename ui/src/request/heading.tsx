import { Progress, Tag, theme } from "antd";
import { useEffect, useRef } from "react";
import type { Request } from "../api/types";
import { learningProposalOf } from "./learning-proposal";
import { translated } from "../strings/catalogue";
import { useRequestStrings } from "../strings/detail";
import { AgentText } from "../widgets/agent-text";
import { Link, threadPagePath } from "../base/router";
import { clock, useNow } from "../widgets/time";
import { Countdown } from "../widgets/countdown";
import { RelativeTime } from "../widgets/relative-time";
import { visible } from "../base/visible";
import { actorName, isAgentActor, isThreadActor, namesOf } from "../widgets/names";
import { useClaimant, recipientNames } from "./assignment";
import { ClientHeader } from "./client-header";
import { clientName, clientOf } from "./client-call";
import { isFullyErased } from "./outcome";

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
function Deadline({ request }: { request: Request }) {
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

/** Show to whom else the request goes if nobody decides; it stands beside the deadline's facts. */
function NextEscalation({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const { escalation = [], escalated = 0, created_at: createdAt, status } = request;
  const step = escalation[escalated];
  if (!step || status !== "pending") return null;
  const at = new Date(Date.parse(createdAt) + step.after * 1_000).toISOString();
  return <span data-testid="escalation">{strings.voting.escalates(recipientNames(step.to, strings), clock(at, strings.language))}</span>;
}

/** Show which agent asks, for whom, and with whose token. */
function Asker({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const { agent, starter, asked_by: token } = request;
  const by = token && !isThreadActor(token) ? token : null;
  if (!agent || agent === token) return by && <span data-testid="asker">{strings.requestedBy(actorName(by, strings))}</span>;
  const person = [starter, by].find((name) => name && !isThreadActor(name) && !isAgentActor(name)) ?? null;
  const name = clientOf(request) === agent ? clientName(agent) : agent;
  return (
    <span data-testid="asker">
      {strings.stakes.asks(visible(name), person && actorName(person, strings), by !== null && by !== person ? actorName(by, strings) : null)}
    </span>
  );
}

/** The title of a request; that of a call is marked unless a rule of the server gave it. */
function Title({ request, isCall }: { request: Request; isCall: boolean }) {
  const strings = useRequestStrings();
  if (isFullyErased(request)) return strings.erasedTitle;
  const { title, wording, policy } = request;
  return <>{isCall && !policy && <span className="quiet">{strings.stakes.agentSays} </span>}<AgentText text={translated(title, wording, "title", strings)} /></>;
}

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
  const { priority, tier, action } = request;
  const isCall = action !== null && !isFullyErased(request) && !learningProposalOf(request);
  const names = namesOf(request, strings);
  return (
    <header className="heading">
      <h2 ref={title} id={id} tabIndex={-1} data-of-call={isCall}><Title request={request} isCall={isCall} /></h2>
      <Deadline request={request} />
      <ClientHeader request={request} isInSession={!threadLink} />
      <div className="meta">
        <Tag variant="outlined">{strings.kinds[request.kind]}</Tag>
        {(tier === "high" || tier === "irreversible") && <Tag color={tier === "high" ? "warning" : "error"} data-testid="tier">{strings.voting.tiers[tier]}</Tag>}
        {request.legal_hold && <Tag color="processing" title={strings.legalHoldHint} data-testid="legal-hold">{strings.legalHold}</Tag>}
        {priority && priority !== "normal" && <Tag {...(priority !== "low" && { color: "error" })}>{strings.priority[priority]}</Tag>}
        <Asker request={request} />
        <RelativeTime at={request.created_at} />
        {names && <span data-testid="assigned-to">{strings.assignedTo(names)}</span>}
        <NextEscalation request={request} />
        {claimant && <span data-testid="claimed-by">{strings.claimedBy(visible(claimant.name))}</span>}
        {request.thread_id && threadLink && clientOf(request) === undefined && (
          <Link to={threadPagePath(request.thread_id)}>{strings.thread} {visible(request.thread_id)}</Link>
        )}
      </div>
    </header>
  );
}
