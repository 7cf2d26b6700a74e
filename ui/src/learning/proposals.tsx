import { Tag } from "antd";
import { useId } from "react";
import type { Request } from "../api/types";
import { RequestDetail } from "../request/request-detail";
import { Disclosure } from "../thread/disclosure";
import { AgentText } from "../widgets/agent-text";
import { Link, playbookPath } from "../widgets/router";
import { visible } from "../widgets/visible";
import { DecideAll } from "./decide-all";
import type { Insight } from "./types";
import { named, useLearningWords } from "./words";

const looks: Record<Insight["status"], [colour: string, sign: string]> = {
  pending: ["processing", "…"], learned: ["success", "✓"], edited: ["success", "✓"], rejected: ["default", "✕"], expired: ["warning", "–"], cancelled: ["default", "–"], obsolete: ["default", "–"],
};

/** What became of a proposal; how and by whom is folded below. */
function Settled({ insight, playbook }: { insight: Insight; playbook: string | undefined }) {
  const words = useLearningWords();
  const { id, text, type, status, version, reason, request } = insight;
  const [colour, sign] = looks[status];
  return (
    <div className="insight settled" data-testid="insight" data-id={id} data-status={status}>
      <div className="learn-what">
        <Tag color={colour} data-testid="insight-status"><span aria-hidden="true">{sign} </span>{words.insightStatuses[status]}</Tag>
        <span className="quiet">{named(words.insightTypes, type)}</span>
        {version !== null && playbook !== undefined && <Link to={playbookPath(playbook)} testId="to-playbook">{words.inVersion(version)}</Link>}
      </div>
      <div className={status === "learned" || status === "edited" ? "" : "quiet"}><AgentText text={text} /></div>
      {reason && <div className="quiet" data-testid="insight-reason">“{visible(reason)}”</div>}
      {request && <Disclosure id={`insight-${id}`} summary={<span className="quiet">{words.decisionOn}</span>}><RequestDetail id={request.id} isInThread /></Disclosure>}
    </div>
  );
}

/** The other proposals that are open on the page, the next one first. */
function nextOpen(decided: Request): HTMLElement | undefined {
  const open = Array.from(document.querySelectorAll<HTMLElement>(".insight article[data-status=pending]"));
  return open.find((one) => one.dataset.id !== decided.id);
}

interface ProposalsProps {
  insights: Insight[];
  playbook: string | undefined;
  /** Nothing is left to decide. */
  afterwards: () => void;
}

/** What the agent would learn: each is decided by itself, or all at once. */
export function Proposals({ insights, playbook, afterwards }: ProposalsProps) {
  const words = useLearningWords();
  const title = useId();
  if (insights.length === 0) return null;
  const open = insights.filter(({ status, request }) => status === "pending" && request?.status === "pending");
  const waiting = insights.filter(({ status }) => status === "pending").length;
  const onDecided = (decided: Request) => {
    const next = nextOpen(decided);
    if (next) next.focus();
    else afterwards();
  };
  return (
    <section className="proposals" aria-labelledby={title} data-testid="proposals">
      <header className="proposals-head">
        <h3 id={title}>{words.learnThis}</h3>
        <span className="quiet">{waiting === 0 ? words.allDecided : words.openOf(waiting, insights.length)}</span>
        <DecideAll ids={open.flatMap(({ request }) => (request ? [request.id] : []))} onDecided={afterwards} />
      </header>
      {insights.map((insight) => {
        const { id, request, status } = insight;
        if (status !== "pending" || !request) return <Settled key={id} insight={insight} playbook={playbook} />;
        return (
          // An insight that is proposed again is another question.
          <section key={`${id} ${request.id}`} className="pause insight" data-testid="insight" data-id={id} data-status="pending">
            <RequestDetail id={request.id} isInThread onDecided={onDecided} />
          </section>
        );
      })}
    </section>
  );
}
