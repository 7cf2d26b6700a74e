import { Segmented } from "antd";
import { useId } from "react";
import { messageAt } from "./draft";
import { FieldError } from "./field-error";
import { JsonInput } from "./json-input";
import type { Desk } from "./use-desk";
import { useWords } from "./words";
import { WordsBox } from "./words-box";

function JsonBox({ desk }: { desk: Desk }) {
  const { draft, change, decision, frozen } = desk;
  const strings = useWords();
  const id = useId();
  const error = messageAt(decision.problems, "data");
  return (
    <div data-testid="field-data" data-invalid={Boolean(error)}>
      <label htmlFor={id}>{strings.answerJson}</label>
      <JsonInput
        id={id} value={draft.json} broken={draft.broken.data} disabled={frozen}
        aria={error ? { "aria-describedby": `${id}-error` } : {}}
        onChange={(json) => {
          change({ json, broken: {} });
          decision.mended("data");
        }}
        onBreak={(data) => change({ broken: { data } })}
      />
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

/** The answer to a plain interrupt: words, or any JSON that the agent's code takes. */
export function PlainAnswer({ desk }: { desk: Desk }) {
  const { draft, change, frozen } = desk;
  const strings = useWords();
  return (
    <>
      <Segmented
        disabled={frozen} value={draft.asJson ? "json" : "words"} aria-label={strings.answerAs}
        options={[
          { value: "words", label: <span data-testid="answer-words">{strings.answerWords}</span> },
          { value: "json", label: <span data-testid="answer-json">JSON</span> },
        ]}
        onChange={(chosen) => change({ asJson: chosen === "json" })}
      />
      {draft.asJson ? <JsonBox desk={desk} /> : <WordsBox desk={desk} part="message" label={strings.yourAnswer} />}
    </>
  );
}
