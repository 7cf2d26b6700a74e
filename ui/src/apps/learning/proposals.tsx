import { useQueries } from "@tanstack/react-query";
import { Alert, Button, Input, Tag } from "antd";
import { useId, useState } from "react";
import { usePerson } from "../../api/absences";
import { requestQuery } from "../../api/requests";
import type { Request } from "../../api/types";
import { useKeys } from "../../base/keys";
import { Link } from "../../base/router";
import { playbookPath } from "./paths";
import { visible } from "../../base/visible";
import { bulkRefusal, type BulkDecision, useBulk } from "../../inbox/bulk";
import { RequestDetail } from "../../request/request-detail";
import { reasonText } from "../../strings/catalogue";
import { useLearningStrings, labelOf } from "./strings";
import { AgentText } from "../../widgets/agent-text";
import { Disclosure } from "../../widgets/disclosure";
import type { Insight } from "./api";

/** Return the open proposals that this person may decide. */
function useDecidableRequests(ids: string[]): Request[] {
  const strings = useLearningStrings();
  const person = usePerson();
  const requests = useQueries({ queries: ids.map(requestQuery), combine: (all) => all.flatMap(({ data }) => (data ? [data] : [])) });
  return requests.filter((request) => [null, strings.bulkRefusals.learning].includes(bulkRefusal(request, "approve", person, strings)));
}

interface RejectReasonProps {
  count: number;
  onReject: (reason: string) => void;
  onBack: () => void;
}

function RejectReason({ count, onReject, onBack }: RejectReasonProps) {
  const strings = useLearningStrings();
  const id = useId();
  const [reason, type] = useState("");
  useKeys(strings.proposalsTitle, [
    { key: "mod+Enter", label: strings.rejectAllNow(count), run: () => onReject(reason), whileTyping: true, once: true },
    { key: "Escape", label: strings.back, run: onBack, whileTyping: true },
  ]);
  return (
    <div className="say-words">
      <label htmlFor={id} className="quiet">{strings.rejectAllReason}</label>
      <Input.TextArea
        id={id} autoFocus autoSize={{ minRows: 2, maxRows: 6 }} value={reason} maxLength={20_000} onChange={(event) => type(event.target.value)}
        data-testid="reject-all-reason"
      />
      <div className="button-bar">
        <Button danger type="primary" onClick={() => onReject(reason)} data-testid="confirm-reject-all">{strings.rejectAllNow(count)}</Button>
        <Button onClick={onBack}>{strings.back}</Button>
      </div>
    </div>
  );
}

interface DecideAllButtonsProps {
  open: Request[];
  covered: Request[];
  /** How many may contradict another one or the playbook. */
  contradictory: number;
  isSending: boolean;
  onApprove: () => void;
  onReject: () => void;
}

/** The buttons for all proposals, and what each of them covers. */
function DecideAllButtons({ open, covered, contradictory, isSending, onApprove, onReject }: DecideAllButtonsProps) {
  const strings = useLearningStrings();
  const id = useId();
  return (
    <div className="decide-all">
      <div className="button-bar">
        <Button loading={isSending} disabled={covered.length === 0} onClick={onApprove} aria-describedby={id} data-testid="approve-all">{strings.approveAll}</Button>
        <Button danger type="text" disabled={isSending} onClick={onReject} data-testid="reject-all">{strings.rejectAll(open.length)}</Button>
      </div>
      <p id={id} className="quiet" data-testid="approve-all-covers">{strings.approveAllCovers(covered.length, open.length - covered.length - contradictory, contradictory)}</p>
    </div>
  );
}

const contradicts = ({ contradicts: others, contradictsPlaybook }: Insight) => others.length > 0 || contradictsPlaybook;

interface DecideAllProps {
  insights: Insight[];
  onDecided: () => void;
}

/** Decide several proposals at once, each with the content on screen. Approval leaves out what needs a decision of its own. */
function DecideAll({ insights, onDecided }: DecideAllProps) {
  const strings = useLearningStrings();
  const { statuses, decide } = useBulk();
  const [rejecting, setRejecting] = useState(false);
  const [sending, setSending] = useState(false);
  const idsOf = (some: Insight[]) => some.flatMap(({ request }) => (request ? [request.id] : []));
  const contradictory = idsOf(insights.filter(contradicts));
  const opinions = idsOf(insights.filter(({ isOwnOpinion }) => isOwnOpinion));
  const open = useDecidableRequests(idsOf(insights));
  const covered = open.filter(({ id }) => !contradictory.includes(id) && !opinions.includes(id));
  const send = async (verdict: BulkDecision, reason: string) => {
    setSending(true);
    await decide(verdict === "approve" ? covered : open, verdict, reason);
    setSending(false);
    setRejecting(false);
    onDecided();
  };
  const skipped = [...new Set([...statuses.values()].flatMap(({ state, why }) => (state === "skipped" || state === "unknown" ? [why ?? ""] : [])))];
  return (
    <>
      {open.length > 1 && !rejecting && (
        <DecideAllButtons open={open} covered={covered} contradictory={open.filter(({ id }) => contradictory.includes(id)).length} isSending={sending} onApprove={() => void send("approve", "")} onReject={() => setRejecting(true)} />
      )}
      {rejecting && <RejectReason count={open.length} onReject={(reason) => void send("reject", reason)} onBack={() => setRejecting(false)} />}
      {skipped.length > 0 && <Alert type="warning" showIcon title={strings.notAllDecided(skipped.join(" · "))} data-testid="some-skipped" />}
    </>
  );
}

const looks: Record<Insight["status"], [colour: string, sign: string]> = {
  pending: ["processing", "…"], learned: ["success", "✓"], edited: ["success", "✓"], rejected: ["default", "✕"], expired: ["warning", "–"], cancelled: ["default", "–"], obsolete: ["default", "–"],
};

/** The outcome of a proposal; its decision can be opened below. */
function DecidedProposal({ insight, playbook }: { insight: Insight; playbook: string | undefined }) {
  const strings = useLearningStrings();
  const { id, text, type, status, version, reason, request } = insight;
  const [colour, sign] = looks[status];
  const { problems }: { problems: { readonly [code: string]: string } } = strings.texts;
  // The reason of an obsolete proposal is the code of what its playbook refused.
  const why = reason && ((status === "obsolete" && Object.hasOwn(problems, reason) && problems[reason]) || reasonText(reason, strings));
  return (
    <div className="insight settled" data-testid="insight" data-id={id} data-status={status}>
      <div className="learn-what">
        <Tag color={colour} data-testid="insight-status"><span aria-hidden="true">{sign} </span>{strings.insightStatuses[status]}</Tag>
        <span className="quiet">{labelOf(strings.insightTypes, type)}</span>
        {version !== null && playbook !== undefined && <Link to={playbookPath(playbook)} testId="to-playbook">{strings.playbookVersion(version)}</Link>}
      </div>
      <div className={status === "learned" || status === "edited" ? "" : "quiet"}><AgentText text={text} /></div>
      {why && <div className="quiet" data-testid="insight-reason">“{visible(why)}”</div>}
      {request && <Disclosure id={`insight-${id}`} summary={<span className="quiet">{strings.decisionLabel}</span>}><RequestDetail id={request.id} isInThread /></Disclosure>}
    </div>
  );
}

/** Return the next open proposal on the page. */
function nextProposal(decided: Request): HTMLElement | undefined {
  const open = Array.from(document.querySelectorAll<HTMLElement>(".insight article[data-status=pending]"));
  return open.find((one) => one.dataset.id !== decided.id);
}

interface ProposalsProps {
  insights: Insight[];
  playbook: string | undefined;
  /** Called when the last proposal is decided. */
  onAllDecided: () => void;
}

/** The proposals of a turn, to decide individually or all at once. */
export function Proposals({ insights, playbook, onAllDecided }: ProposalsProps) {
  const strings = useLearningStrings();
  const title = useId();
  if (insights.length === 0) return null;
  const open = insights.filter(({ status, request }) => status === "pending" && request?.status === "pending");
  const waiting = insights.filter(({ status }) => status === "pending").length;
  const onDecided = (decided: Request) => {
    const next = nextProposal(decided);
    if (next) next.focus();
    else onAllDecided();
  };
  return (
    <section className="proposals" aria-labelledby={title} data-testid="proposals">
      <header className="proposals-head">
        <h3 id={title}>{strings.proposalsTitle}</h3>
        <span className="quiet">{waiting === 0 ? strings.allDecided : strings.openProposalCount(waiting, insights.length)}</span>
      </header>
      {insights.map((insight) => {
        const { id, request, status } = insight;
        if (status !== "pending" || !request) return <DecidedProposal key={id} insight={insight} playbook={playbook} />;
        return (
          // An insight that is proposed again has a new request.
          <section key={`${id} ${request.id}`} className="pause insight" data-testid="insight" data-id={id} data-status="pending">
            {insight.contradicts.length > 0 && <Tag color="warning" data-testid="contradicts"><span aria-hidden="true">▲ </span>{strings.contradicts}</Tag>}
            <RequestDetail id={request.id} isInThread onDecided={onDecided} />
          </section>
        );
      })}
      <DecideAll insights={open} onDecided={onAllDecided} />
    </section>
  );
}
