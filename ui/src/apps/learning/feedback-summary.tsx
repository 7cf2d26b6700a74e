import { Tag } from "antd";
import { actorName } from "../../widgets/names";
import { visible } from "../../base/visible";
import type { Feedback } from "./api";
import { useLearningStrings } from "./strings";

/** The feedback on an answer and its source; the agent's own opinion is marked. */
export function FeedbackSummary({ feedback: { source, verdict, text, by } }: { feedback: Feedback }) {
  const strings = useLearningStrings();
  const isOpinion = source === "self";
  return (
    <span className="judged" data-testid="judged" data-source={source} data-verdict={verdict}>
      <Tag color={isOpinion ? "error" : "processing"} variant="outlined">
        {isOpinion && <span aria-hidden="true">⚠︎ </span>}{strings.feedbackSources[source]}{source === "user" && by && `: ${actorName(by, strings)}`}
      </Tag>
      {verdict !== "unknown" && (
        <span className={verdict === "wrong" ? "error-text" : "quiet"}><span aria-hidden="true">{verdict === "wrong" ? "✕ " : "✓ "}</span>{strings.verdicts[verdict]}</span>
      )}
      {text && <q>{visible(text)}</q>}
    </span>
  );
}
