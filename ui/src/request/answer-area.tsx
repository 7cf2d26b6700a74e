import { Card, Segmented } from "antd";
import { Suspense, useId } from "react";
import type { Request } from "../api/types";
import { RequestIdContext } from "../form/control-props";
import { messageWithin } from "../form/values";
import { FieldError } from "../form/field-error";
import { FormFields } from "../form/form-fields";
import { renderedFields } from "../form/schema-field";
import { useRequestStrings } from "../strings/detail";
import { lazyWithRetry } from "../base/browser";
import { Loading } from "../widgets/loading";
import { visible } from "../base/visible";
import { answersJson, hasAnswer, isFreeAnswer, takesMessageAsAnswer } from "./decisions";
import type { DecisionFormState } from "./use-decision-form";
import { MessageInput } from "./message-input";

const SchemaEditor = lazyWithRetry(() => import("../form/schema-editor"));

function JsonAnswer({ form }: { form: DecisionFormState }) {
  const { request, draft, change, decision, isLocked } = form;
  const strings = useRequestStrings();
  const id = useId();
  const error = messageWithin(decision.problems, "data");
  return (
    <div className="json-answer" data-testid="field-data" data-invalid={decision.problems.some(({ field }) => field === "data")}>
      <Suspense fallback={<Loading paragraph={{ rows: 4 }} />}>
        <SchemaEditor
          id={id} label={strings.answerJson} schema={request.schema ?? {}} path="data" value={draft.json} broken={draft.broken.data} problems={decision.problems} disabled={isLocked}
          onChange={(json = null) => {
            change({ json, broken: {} });
            decision.clearProblem("data");
          }}
          onBreak={(data) => change({ broken: { data } })}
        />
      </Suspense>
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

/** The answer to a plain interrupt: a text, or any JSON. */
function PlainAnswer({ form }: { form: DecisionFormState }) {
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
      {draft.asJson ? <JsonAnswer form={form} /> : <MessageInput form={form} part="message" label={strings.yourAnswer} />}
    </>
  );
}

/** Tell the person that their answer is remembered and used again. */
function MemoryNotice({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const category = request.context.memory_category;
  const isRemembered = typeof category === "string" && category.trim() !== "" && request.status === "pending";
  return isRemembered && <p className="quiet" data-testid="remembers">{strings.memoryNotice(visible(category.trim()))}</p>;
}

/** The inputs of an answer: the form, a JSON editor for a schema, or a text. */
export function AnswerArea({ form }: { form: DecisionFormState }) {
  const { request, draft, change, decision, isLocked } = form;
  const strings = useRequestStrings();
  if (!hasAnswer(request)) return null;
  return (
    <Card size="small" className="answer">
      <RequestIdContext value={request.id}>
        <FormFields
          fields={renderedFields(request)}
          values={draft.values}
          problems={decision.problems}
          disabled={isLocked}
          diff
          onChange={(values, changed) => {
            change({ values });
            decision.clearProblem(changed);
          }}
        />
      </RequestIdContext>
      {answersJson(request) && <JsonAnswer form={form} />}
      {isFreeAnswer(request) ? <PlainAnswer form={form} />
        : takesMessageAsAnswer(request) && <MessageInput form={form} part="message" label={strings.yourAnswer} />}
      <MemoryNotice request={request} />
    </Card>
  );
}
