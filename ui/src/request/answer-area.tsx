import { Card } from "antd";
import { useId } from "react";
import type { Request } from "../api/types";
import { visible } from "../widgets/visible";
import { answersJson, hasAnswer, messageAt, wantsWords } from "./draft";
import { FieldError } from "./field-error";
import { OfRequest } from "./files";
import { FormFields } from "./form-fields";
import { JsonInput } from "./json-input";
import { isFree } from "./plain";
import { PlainAnswer } from "./plain-answer";
import type { Desk } from "./use-desk";
import { drawnFields } from "./schema-field";
import { useWords } from "./words";
import { WordsBox } from "./words-box";

function JsonAnswer({ desk }: { desk: Desk }) {
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

/** Who approves this has to know that it will be used again. */
function Remembers({ request }: { request: Request }) {
  const strings = useWords();
  const category = request.context.memory_category;
  const isKept = typeof category === "string" && category.trim() !== "" && request.status === "pending";
  return isKept && <p className="quiet" data-testid="remembers">{strings.remembers(visible(category.trim()))}</p>;
}

/** Everything a person fills in: the form, JSON where there is only a schema, words where words are the answer. */
export function AnswerArea({ desk }: { desk: Desk }) {
  const { request, draft, change, decision, frozen } = desk;
  const strings = useWords();
  if (!hasAnswer(request)) return null;
  return (
    <Card size="small" className="answer">
      <OfRequest value={request.id}>
        <FormFields
          fields={drawnFields(request)}
          values={draft.values}
          problems={decision.problems}
          disabled={frozen}
          diff
          onChange={(values, changed) => {
            change({ values });
            decision.mended(changed);
          }}
        />
      </OfRequest>
      {answersJson(request) && <JsonAnswer desk={desk} />}
      {isFree(request) ? <PlainAnswer desk={desk} />
        : wantsWords(request) && <WordsBox desk={desk} part="message" label={strings.yourAnswer} />}
      <Remembers request={request} />
    </Card>
  );
}
