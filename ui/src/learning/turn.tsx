import { Alert } from "antd";
import { FailureReason } from "../thread/failure-reason";
import type { StreamState } from "../thread/stream";
import { AgentText } from "../widgets/agent-text";
import { visible } from "../base/visible";
import { Answer, PartialAnswer } from "./answer";
import { WorkingSpinner } from "./working-spinner";
import { FeedbackSummary } from "./feedback-summary";
import { SkippedProposals, ReflectionDetails } from "./reflection";
import { Proposals } from "./proposals";
import { FeedbackForm } from "./feedback-form";
import type { Turn } from "./types";
import { useLearningStrings } from "../strings/learning";

interface TurnProps {
  id: string;
  turn: Turn;
  /** The stream of its thread; undefined if it is not followed. */
  stream: StreamState | undefined;
  /** True if the answer already has feedback from a person. */
  isJudged: boolean;
  playbook: string | undefined;
  onAllDecided: () => void;
}

/** The question of a turn, or the feedback that started it. */
function TurnHeading({ turn: { parent, query, feedback } }: { turn: Turn }) {
  const strings = useLearningStrings();
  if (parent === null) return <h2 className="asked agent-text" data-testid="question">{visible(query)}</h2>;
  return (
    <h2 className="asked" data-testid="said-of-answer">
      {strings.yourFeedback[feedback?.verdict ?? "unknown"]}{feedback?.text && <div className="asked-words"><AgentText text={feedback.text} /></div>}
    </h2>
  );
}

const emptyStream: StreamState = { last: 0, phase: "idle", values: undefined, events: [], items: [] };

/** A question, its answer and the proposals from both. */
export function TurnView({ id, turn, stream, isJudged, playbook, onAllDecided }: TurnProps) {
  const strings = useLearningStrings();
  const { parent, phase, response, feedback, insights, runId, error } = turn;
  const isFeedback = parent !== null;
  const isWorking = error === null && (phase === "answering" || phase === "reflecting");
  return (
    <article className="turn" data-testid="turn" data-phase={phase} data-run={runId} data-parent={parent}>
      <TurnHeading turn={turn} />
      {!isFeedback && response !== null && <Answer turn={turn} />}
      {!isFeedback && response === null && isWorking && <PartialAnswer stream={stream ?? emptyStream} />}
      {isWorking && (response !== null || isFeedback) && <WorkingSpinner label={strings.phaseLabels.reflecting} />}
      {phase === "done" && !isFeedback && response === null && error === null && <p className="quiet" data-testid="stopped">{strings.stoppedBeforeAnswer}</p>}
      {error !== null && <Alert type="error" showIcon title={strings.runFailed} description={<FailureReason why={error} />} data-testid="turn-error" />}
      {!isFeedback && (
        <div className="turn-judged">
          {feedback && <FeedbackSummary feedback={feedback} />}
          {!isWorking && response !== null && !isJudged && feedback?.source !== "user" && <FeedbackForm id={id} turn={runId} />}
        </div>
      )}
      <ReflectionDetails turn={turn} />
      <Proposals insights={insights} playbook={playbook} onAllDecided={onAllDecided} />
      <SkippedProposals turn={turn} />
    </article>
  );
}
