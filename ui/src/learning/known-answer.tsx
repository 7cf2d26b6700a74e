import { Input } from "antd";
import { useId } from "react";
import { useLearningWords } from "./words";

/** The right answer, for who knows it: then the feedback is a fact and no opinion. */
export function KnownAnswer({ text, onText }: { text: string; onText: (text: string) => void }) {
  const words = useLearningWords();
  const id = useId();
  return (
    <details className="compact known-answer" data-testid="known-answer">
      <summary className="quiet">{words.knownAnswer}</summary>
      <label htmlFor={id} className="quiet">{words.knownAnswerHint}</label>
      <Input id={id} value={text} onChange={(event) => onText(event.target.value)} autoComplete="off" data-testid="expected" />
    </details>
  );
}
