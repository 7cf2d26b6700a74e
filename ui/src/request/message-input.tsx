import { Input } from "antd";
import { useId } from "react";
import { KeyLabel } from "../base/keys";
import { FieldError } from "../form/field-error";
import { messageAt } from "../form/values";
import { HiddenCharacters } from "../widgets/hidden-characters";
import type { DecisionFormState } from "./use-decision-form";

interface MessageInputProps {
  form: DecisionFormState;
  part: "message" | "reason";
  label: string;
  /** The key that leads into the text. */
  keyName?: string;
  testId?: string;
}

/** A text for the agent, sent exactly as typed. */
export function MessageInput({ form, part, label, keyName, testId }: MessageInputProps) {
  const { draft, change, decision, isLocked } = form;
  const id = useId();
  const error = messageAt(decision.problems, "message");
  return (
    <div data-testid="field-message" data-invalid={Boolean(error)} className="message-input">
      <label htmlFor={id}>{keyName ? <KeyLabel label={label} keyName={keyName} /> : label}</label>
      <Input.TextArea
        id={id} value={draft[part]} readOnly={isLocked} variant={isLocked ? "filled" : "outlined"} data-testid={testId}
        aria-keyshortcuts={keyName} autoSize={{ minRows: 2, maxRows: 10 }}
        status={error ? "error" : ""} aria-invalid={Boolean(error)} aria-describedby={error ? `${id}-error` : undefined}
        onChange={(event) => {
          change({ [part]: event.target.value });
          decision.clearProblem("message");
        }}
      />
      <HiddenCharacters text={draft[part]} />
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}
