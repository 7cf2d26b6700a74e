import { Segmented } from "antd";
import { useId } from "react";
import { FieldError } from "../form/form-fields";
import { JsonInput } from "../form/value-editor";
import { messageAt } from "../form/values";
import { useRequestStrings } from "../strings/use-request-strings";
import { MessageInput } from "./message-input";
import type { DecisionFormState } from "./use-decision-form";

function JsonBox({ form }: { form: DecisionFormState }) {
  const { draft, change, decision, isLocked } = form;
  const strings = useRequestStrings();
  const id = useId();
  const error = messageAt(decision.problems, "data");
  return (
    <div data-testid="field-data" data-invalid={Boolean(error)}>
      <label htmlFor={id}>{strings.answerJson}</label>
      <JsonInput
        id={id} value={draft.json} broken={draft.broken.data} disabled={isLocked}
        aria={error ? { "aria-describedby": `${id}-error` } : {}}
        onChange={(json) => {
          change({ json, broken: {} });
          decision.clearProblem("data");
        }}
        onBreak={(data) => change({ broken: { data } })}
      />
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

/** The answer to a plain interrupt: a text, or any JSON. */
export function PlainAnswer({ form }: { form: DecisionFormState }) {
  const { draft, change, isLocked } = form;
  const strings = useRequestStrings();
  return (
    <>
      <Segmented
        disabled={isLocked} value={draft.asJson ? "json" : "words"} aria-label={strings.answerFormat}
        options={[
          { value: "words", label: <span data-testid="answer-words">{strings.answerText}</span> },
          { value: "json", label: <span data-testid="answer-json">JSON</span> },
        ]}
        onChange={(format) => change({ asJson: format === "json" })}
      />
      {draft.asJson ? <JsonBox form={form} /> : <MessageInput form={form} part="message" label={strings.yourAnswer} />}
    </>
  );
}
