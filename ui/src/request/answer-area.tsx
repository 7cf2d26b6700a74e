import { Input } from "antd";
import { useId } from "react";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { visible } from "../widgets/visible";
import { answersJson, messageAt, type Draft } from "./draft";
import { FormFields } from "./form-fields";
import { JsonInput } from "./json-input";
import type { DecisionState } from "./use-decision";
import { fieldsOf } from "./values";

interface AnswerAreaProps {
  request: Request;
  draft: Draft;
  change: (change: Partial<Draft>) => void;
  decision: DecisionState;
  disabled: boolean;
}

function JsonAnswer({ draft, change, decision, disabled }: AnswerAreaProps) {
  const strings = useStrings();
  const id = useId();
  const error = messageAt(decision.problems, "data");
  return (
    <div data-testid="field-data" data-invalid={Boolean(error)}>
      <label htmlFor={id}>{strings.answerJson}</label>
      <JsonInput id={id} value={draft.json} disabled={disabled} onChange={(json) => change({ json })} />
      {error && <div role="alert" className="error-text" data-testid="field-error">{visible(error)}</div>}
    </div>
  );
}

function MessageBox({ draft, change, decision, disabled }: AnswerAreaProps) {
  const strings = useStrings();
  const id = useId();
  const error = messageAt(decision.problems, "message");
  return (
    <div data-testid="field-message" data-invalid={Boolean(error)}>
      <label htmlFor={id}>{strings.yourAnswer}</label>
      <Input.TextArea
        id={id} value={draft.message} disabled={disabled} autoSize={{ minRows: 3, maxRows: 12 }}
        status={error ? "error" : ""} aria-invalid={Boolean(error)} aria-describedby={`${id}-error`}
        onChange={(event) => {
          change({ message: event.target.value });
          decision.mended("message");
        }}
      />
      <div id={`${id}-error`} role="alert" className="error-text">{error && <span data-testid="field-error">{visible(error)}</span>}</div>
    </div>
  );
}

/** Everything a person fills in: the form, JSON where there is only a schema, words where words are asked for. */
export function AnswerArea(props: AnswerAreaProps) {
  const { request, draft, change, decision, disabled } = props;
  return (
    <>
      <FormFields
        fields={fieldsOf(request)}
        values={draft.values}
        problems={decision.problems}
        disabled={disabled}
        onChange={(values, changed) => {
          change({ values });
          decision.mended(changed);
        }}
      />
      {answersJson(request) && <JsonAnswer {...props} />}
      {request.allowed.includes("respond") && <MessageBox {...props} />}
    </>
  );
}
