import { Button, Input } from "antd";
import { useId, useState } from "react";
import { useKeys } from "../base/keys";
import { Problem } from "../widgets/problem";
import { useFeedback, type NewFeedback } from "./api";
import { useLearningStrings } from "../strings/learning";

function Thumb({ up }: { up: boolean }) {
  return (
    <svg className="thumb" viewBox="0 0 16 16" aria-hidden="true" data-up={up}>
      <path d="M5.5 7 8.2 1.8a1.5 1.5 0 0 1 1.7 1.8L9.4 6h3.3a1.4 1.4 0 0 1 1.4 1.7l-1 4.7a1.6 1.6 0 0 1-1.5 1.2H5.5zM2 7h2v6.6H2z" />
    </svg>
  );
}

interface FeedbackTextProps {
  verdict: NewFeedback["verdict"];
  isSending: boolean;
  onSend: (text: string) => void;
  onBack: () => void;
}

function FeedbackText({ verdict, isSending, onSend, onBack }: FeedbackTextProps) {
  const strings = useLearningStrings();
  const id = useId();
  const [text, type] = useState("");
  const send = () => onSend(text.trim());
  useKeys(strings.feedbackQuestion, [
    { key: "mod+Enter", label: strings.sendFeedback, run: send, whileTyping: true, once: true },
    { key: "Escape", label: strings.back, run: onBack, whileTyping: true },
  ]);
  return (
    <div className="say-words">
      <label htmlFor={id} className="quiet">{strings.feedbackPlaceholders[verdict]}</label>
      <Input.TextArea
        id={id} autoFocus autoSize={{ minRows: 2, maxRows: 8 }} value={text} maxLength={20_000} readOnly={isSending} data-testid="feedback-text"
        onChange={(event) => type(event.target.value)}
      />
      <div className="button-bar">
        <Button type="primary" loading={isSending} onClick={send} data-testid="send-feedback">{strings.sendFeedback}</Button>
        <Button disabled={isSending} onClick={onBack}>{strings.back}</Button>
      </div>
    </div>
  );
}

/** Form for feedback on an answer; the agent then reflects again. */
export function FeedbackForm({ id, turn }: { id: string; turn: string }) {
  const strings = useLearningStrings();
  const [verdict, choose] = useState<NewFeedback["verdict"]>();
  const { mutate, isPending, isSuccess, error } = useFeedback(id);
  if (isSuccess) return <p className="quiet" data-testid="feedback-sent">{strings.feedbackSent}</p>;
  const send = (text: string) => verdict && mutate({ verdict, turn, ...(text && { text }) });
  return (
    <fieldset className="say" aria-label={strings.feedbackQuestion} data-testid="say">
      <div className="button-bar">
        <span className="quiet">{strings.feedbackQuestion}</span>
        {(["right", "wrong"] as const).map((one) => (
          <Button
            key={one} size="small" aria-pressed={verdict === one}
            disabled={isPending} onClick={() => choose(one)} data-testid={`say-${one}`}
          >
            <Thumb up={one === "right"} />{one === "right" ? strings.answerIsRight : strings.answerIsWrong}
          </Button>
        ))}
      </div>
      {verdict && <FeedbackText key={verdict} verdict={verdict} isSending={isPending} onSend={send} onBack={() => choose(undefined)} />}
      <Problem error={error} />
    </fieldset>
  );
}
