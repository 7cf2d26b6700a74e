import { Alert } from "antd";
import { FailureReason } from "../operations/failure-reason";
import type { StreamState } from "../thread/stream";
import { AgentText } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { Answer, Answering } from "./answer";
import { WorkingSpinner } from "./working-spinner";
import { Judgement } from "./judgement";
import { SkippedProposals, ReflectionDetails } from "./reflection";
import { Proposals } from "./proposals";
import { FeedbackForm } from "./feedback-form";
import type { Turn } from "./types";
import { useLearningWords } from "./words";

interface TurnProps {
  id: string;
  turn: Turn;
  /** What its thread says now; undefined where that is not followed. */
  stream: StreamState | undefined;
  /** Somebody has said already whether it was right. */
  isJudged: boolean;
  playbook: string | undefined;
  afterwards: () => void;
}

/** What was asked; of a word on an answer, that word. */
function Asked({ turn: { parent, query, feedback } }: { turn: Turn }) {
  const words = useLearningWords();
  if (parent === null) return <h2 className="asked agent-text" data-testid="question">{visible(query)}</h2>;
  return (
    <h2 className="asked" data-testid="said-of-answer">
      {words.youSaid[feedback?.verdict ?? "unknown"]}{feedback?.text && <div className="asked-words"><AgentText text={feedback.text} /></div>}
    </h2>
  );
}

const emptyStream: StreamState = { last: 0, phase: "idle", values: undefined, events: [], items: [] };

/** A question, its answer, and what is proposed to be learned from both. */
export function TurnView({ id, turn, stream, isJudged, playbook, afterwards }: TurnProps) {
  const words = useLearningWords();
  const { parent, phase, response, feedback, insights, runId, error } = turn;
  const isOnAnswer = parent !== null;
  const isWorking = error === null && (phase === "answering" || phase === "reflecting");
  return (
    <article className="turn" data-testid="turn" data-phase={phase} data-run={runId} data-parent={parent}>
      <Asked turn={turn} />
      {!isOnAnswer && response !== null && <Answer turn={turn} />}
      {!isOnAnswer && response === null && isWorking && <Answering stream={stream ?? emptyStream} />}
      {isWorking && (response !== null || isOnAnswer) && <WorkingSpinner words={words.blooming.reflecting} />}
      {phase === "done" && !isOnAnswer && response === null && error === null && <p className="quiet" data-testid="stopped">{words.stoppedEarly}</p>}
      {error !== null && <Alert type="error" showIcon title={words.runFailed} description={<FailureReason why={error} />} data-testid="turn-error" />}
      {!isOnAnswer && (
        <div className="turn-judged">
          {feedback && <Judgement feedback={feedback} />}
          {!isWorking && response !== null && !isJudged && feedback?.source !== "user" && <FeedbackForm id={id} turn={runId} />}
        </div>
      )}
      <ReflectionDetails turn={turn} />
      <Proposals insights={insights} playbook={playbook} afterwards={afterwards} />
      <SkippedProposals turn={turn} />
    </article>
  );
}
