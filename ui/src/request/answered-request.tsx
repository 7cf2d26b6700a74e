import { Button } from "antd";
import { useSession } from "../api/session";
import type { Request, Vote } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { AgentContext } from "./agent-context";
import { CollapsibleFacts, Facts } from "./facts";
import { HeldAnswer } from "./held-answer";
import { Votes } from "./votes";
import { ownVote } from "./voting";

interface OwnVoteProps {
  request: Request;
  vote: Vote;
  onChange: () => void;
}

/** The footer of a request on which this person has voted. */
function OwnVote({ request, vote, onChange }: OwnVoteProps) {
  const { voting } = useRequestStrings();
  const count = (request.missing ?? []).reduce((sum, stage) => sum + (stage.count ?? 1), 0);
  return (
    <div className="button-bar">
      <output data-testid="own-vote">{voting.own[vote.decision]} {count > 0 && voting.missing(count)}</output>
      <Button onClick={onChange} data-testid="change-vote">{voting.changeVote}</Button>
    </div>
  );
}

interface AnsweredRequestProps {
  request: Request;
  isInThread: boolean;
  /** True if this request handles the keys. */
  isActive: boolean;
  /** Show the form again. */
  onReopen: () => void;
}

/** A pending request that this person has answered or voted on. */
export function AnsweredRequest({ request, isInThread, isActive, onReopen }: AnsweredRequestProps) {
  const me = useSession().data?.name;
  const vote = ownVote(request, me);
  return (
    <div className="decision-form">
      <CollapsibleFacts request={request} isCollapsed={isInThread}><Facts request={request} /></CollapsibleFacts>
      {!isInThread && <AgentContext request={request} />}
      <Votes request={request} />
      <footer className="decide" data-testid="decide">
        {request.held?.responder === me
          ? <HeldAnswer request={request} isActive={isActive} onUndone={onReopen} />
          : vote && <OwnVote request={request} vote={vote} onChange={onReopen} />}
      </footer>
    </div>
  );
}
