import { Input } from "antd";
import { useId } from "react";
import { useLearningStrings } from "../strings/learning";

/** An optional input for the right answer; feedback based on it is a fact, not an opinion. */
export function KnownAnswer({ text, onText }: { text: string; onText: (text: string) => void }) {
  const strings = useLearningStrings();
  const id = useId();
  return (
    <details className="compact known-answer" data-testid="known-answer">
      <summary className="quiet">{strings.knownAnswer}</summary>
      <label htmlFor={id} className="quiet">{strings.knownAnswerHint}</label>
      <Input id={id} value={text} onChange={(event) => onText(event.target.value)} autoComplete="off" data-testid="expected" />
    </details>
  );
}
