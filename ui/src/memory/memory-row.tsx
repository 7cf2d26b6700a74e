import { Button, Flex } from "antd";
import { useEffect, useRef } from "react";
import type { Json, Memory } from "../api/types";
import { valueFormatter } from "../form/form-fields";
import { renderedFields } from "../form/schema-field";
import { useRequestStrings } from "../strings/detail";
import { dayAndTime } from "../widgets/time-format";
import { AgentText, JsonValue } from "../widgets/agent-text";
import { Link, requestPath } from "../base/router";
import { visible } from "../base/visible";
import { ConfirmDelete } from "./confirm-delete";
import { EditMemory } from "./edit-memory";
import { useMemoryStrings } from "../strings/memory";

export type Step = "editing" | "deleting";

function Value({ memory, name, value }: { memory: Memory; name: string; value: Json }) {
  const strings = useRequestStrings();
  const field = renderedFields(memory).find((one) => one.name === name);
  const write = field && valueFormatter(field, strings);
  if (write) return <AgentText text={write(value)} />;
  return typeof value === "string" || typeof value === "number" ? <AgentText text={String(value)} /> : <JsonValue value={value} />;
}

function Answer({ memory }: { memory: Memory }) {
  const labels = new Map(renderedFields(memory).map((field) => [field.name, field.label || field.name]));
  return (
    <dl data-testid="memory-answer">
      {Object.entries(memory.answer).map(([name, value]) => (
        <div key={name} className="memory-pair">
          <dt>{visible(labels.get(name) ?? name)}</dt>
          <dd><Value memory={memory} name={name} value={value} /></dd>
        </div>
      ))}
    </dl>
  );
}

function Facts({ memory }: { memory: Memory }) {
  const strings = useMemoryStrings();
  const at = (when: string) => <time dateTime={when}>{dayAndTime(Date.parse(when), strings.language)}</time>;
  return (
    <div className="quiet memory-facts">
      <span>{strings.answeredLabel} {at(memory.answered_at)}</span>
      {memory.edited_at && <span data-testid="memory-edited">{strings.changedLabel} {at(memory.edited_at)}</span>}
      <Link to={requestPath(memory.id)}>{strings.requestLink}</Link>
    </div>
  );
}

/** Return the focus to the row when the step that had it closes. */
function useFocusReturn(step: Step | undefined) {
  const place = useRef<HTMLLIElement>(null);
  const before = useRef(step);
  useEffect(() => {
    if (before.current && !step && document.activeElement === document.body) place.current?.querySelector("a")?.focus();
    before.current = step;
  }, [step]);
  return place;
}

interface MemoryRowProps {
  memory: Memory;
  /** The category as a heading; undefined unless it differs from that of the previous row. */
  heading: string | undefined;
  step: Step | undefined;
  go: (step: Step | undefined) => void;
}

/** One remembered answer: its question, its time, its request, and the actions on it. */
export function MemoryRow({ memory, heading, step, go }: MemoryRowProps) {
  const strings = useMemoryStrings();
  const question = visible(memory.question);
  const hiddenQuestion = <span className="visually-hidden">: {question}</span>;
  const back = () => go(undefined);
  return (
    <li ref={useFocusReturn(step)} data-testid="memory" data-id={memory.id}>
      {heading !== undefined && <h2 data-testid="memory-category">{visible(heading)}</h2>}
      <div className="memory">
        <div className="memory-question">{question}</div>
        {step === "editing" ? <EditMemory memory={memory} onBack={back} /> : <Answer memory={memory} />}
        <Facts memory={memory} />
        {step === "deleting" && <ConfirmDelete memory={memory} onBack={back} />}
        {!step && (
          <Flex gap="small" wrap>
            <Button onClick={() => go("editing")} data-testid="edit-memory">{strings.editMemory}{hiddenQuestion}</Button>
            <Button danger onClick={() => go("deleting")} data-testid="delete-memory">{strings.deleteMemory}{hiddenQuestion}</Button>
          </Flex>
        )}
      </div>
    </li>
  );
}
