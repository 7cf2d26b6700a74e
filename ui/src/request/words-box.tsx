import { Input } from "antd";
import { useId } from "react";
import { HiddenIn } from "../widgets/agent-text";
import { messageAt } from "./draft";
import { FieldError } from "./field-error";
import type { Desk } from "./use-desk";

interface WordsBoxProps {
  desk: Desk;
  part: "message" | "reason";
  label: string;
  testId?: string;
}

/** A text to the agent: what stands in the box is what is sent, word for word. */
export function WordsBox({ desk, part, label, testId }: WordsBoxProps) {
  const { draft, change, decision, frozen } = desk;
  const id = useId();
  const error = messageAt(decision.problems, "message");
  return (
    <div data-testid="field-message" data-invalid={Boolean(error)} className="words">
      <label htmlFor={id}>{label}</label>
      <Input.TextArea
        id={id} value={draft[part]} readOnly={frozen} variant={frozen ? "filled" : "outlined"} data-testid={testId}
        autoSize={{ minRows: 2, maxRows: 10 }}
        status={error ? "error" : ""} aria-invalid={Boolean(error)} aria-describedby={error ? `${id}-error` : undefined}
        onChange={(event) => {
          change({ [part]: event.target.value });
          decision.mended("message");
        }}
      />
      <HiddenIn text={draft[part]} />
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}
