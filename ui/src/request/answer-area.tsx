import { Card, Input, Segmented } from "antd";
import { Suspense, useId } from "react";
import type { Request } from "../api/types";
import { RequestIdContext } from "../form/control-props";
import { FieldError, FormFields } from "../form/form-fields";
import { renderedFields } from "../form/schema-field";
import { messageAt, messageWithin } from "../form/values";
import { useRequestStrings } from "../strings/detail";
import { HiddenCharacters } from "../widgets/agent-text";
import { KeyLabel } from "../base/key-label";
import { lazyWithRetry } from "../base/lazy";
import { Loading } from "../widgets/loading";
import { visible } from "../base/visible";
import { answersJson, hasAnswer, isFreeAnswer, takesMessageAsAnswer } from "./decisions";
import type { DecisionFormState } from "./use-decision-form";

const SchemaEditor = lazyWithRetry(() => import("../form/schema-editor"));

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
