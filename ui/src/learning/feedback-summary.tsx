import { Tag } from "antd";
import { actorName } from "../request/people";
import { visible } from "../widgets/visible";
import type { Feedback } from "./types";
import { useLearningWords } from "./words";

/** Who judged an answer; the agent's own opinion is marked. */
export function Judgement({ feedback: { source, verdict, text, by } }: { feedback: Feedback }) {
  const words = useLearningWords();
  const isOpinion = source === "self";
  return (
    <span className="judged" data-testid="judged" data-source={source} data-verdict={verdict}>
      <Tag color={isOpinion ? "error" : "processing"} variant="outlined">
        {isOpinion && <span aria-hidden="true">⚠︎ </span>}{words.judgedBy[source]}{source === "user" && by && `: ${actorName(by, words)}`}
      </Tag>
      {verdict !== "unknown" && (
        <span className={verdict === "wrong" ? "error-text" : "quiet"}><span aria-hidden="true">{verdict === "wrong" ? "✕ " : "✓ "}</span>{words.verdicts[verdict]}</span>
      )}
      {text && <q>{visible(text)}</q>}
    </span>
  );
}
