import { Tag } from "antd";
import { useId } from "react";
import type { Request } from "../api/types";
import { RequestDetail } from "../request/request-detail";
import { reasonText } from "../strings/catalogue";
import { Disclosure } from "../widgets/disclosure";
import { AgentText } from "../widgets/agent-text";
import { Link, playbookPath } from "../base/router";
import { visible } from "../base/visible";
import { DecideAll } from "./decide-all";
import type { Insight } from "./types";
import { labelOf, useLearningStrings } from "../strings/learning";

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
