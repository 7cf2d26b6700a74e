import { Button, Flex } from "antd";
import { useEffect, useId, useRef, useState, type SyntheticEvent } from "react";
import { isStatus, ProblemError, type FieldProblem } from "../api/call";
import { useEditMemory } from "../api/memories";
import type { Json, JsonObject, Memory } from "../api/types";
import { messageAt } from "../request/draft";
import { FormFields } from "../request/form-fields";
import { JsonInput } from "../request/json-input";
import { renderedFields, isObject } from "../request/schema-field";
import { answerOf, missing, type Values } from "../request/values";
import { useKeys } from "../widgets/keys";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { useMemoryWords } from "./words";

/** What is typed of a memory, and what is wrong with it. */
function useMemoryForm(memory: Memory, onDone: () => void) {
  const strings = useMemoryWords();
  const fields = renderedFields(memory);
  const [values, setValues] = useState<Values>(memory.answer);
  const [json, setJson] = useState<Json | undefined>(memory.answer);
  const [empty, setEmpty] = useState<FieldProblem[]>([]);
  const [mended, setMended] = useState<ReadonlySet<string>>(new Set());
  // The list is read again while somebody types: what they change is what they saw when they began.
  const [toldAt] = useState(memory.edited_at ?? memory.answered_at);
  const { mutate, isPending, error } = useEditMemory(memory.id, toldAt);
  const data: JsonObject | undefined = fields.length > 0 ? answerOf(fields, values) : isObject(json) ? json : undefined;
  const told = error instanceof ProblemError ? error.errors : [];
  const save = () => {
    const left = missing(fields, values).map((field) => ({ field, message: strings.requiredField }));
    setEmpty(left);
    setMended(new Set());
    if (left.length === 0 && data && !isPending) mutate(data, { onSuccess: onDone });
  };
  const change = (next: Values, changed: string) => {
    setValues(next);
    setMended(new Set([...mended, changed]));
  };
  const problems = (empty.length > 0 ? empty : told).filter(({ field }) => !mended.has(field));
  const loose = told.filter((problem) => !fields.some(({ name }) => messageAt([problem], name)));
  return { fields, values, change, json, setJson, save, isPending, error, problems, loose };
}

/** The same form once more, with what is remembered in it. */
export function EditMemory({ memory, onBack }: { memory: Memory; onBack: () => void }) {
  const strings = useMemoryWords();
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const { fields, values, change, json, setJson, save, isPending, error, problems, loose } = useMemoryForm(memory, onBack);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, textarea, button")?.focus(), []);
  useKeys(strings.editMemory, [
    { key: "mod+Enter", label: strings.saveMemory, run: save, whileTyping: true, once: true },
    { key: "Escape", label: strings.back, run: onBack, whileTyping: true },
  ]);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    save();
  };
  const isShown = error !== null && (problems.length === 0 || loose.length > 0);
  return (
    <form ref={form} onSubmit={submit} noValidate aria-label={strings.memoryNamed(strings.editMemory, visible(memory.question))}>
      <FormFields fields={fields} values={values} onChange={change} problems={problems} disabled={isPending} />
      {fields.length === 0 && (
        <>
          <label htmlFor={id} className="visually-hidden">{visible(memory.question)}</label>
          <JsonInput id={id} value={json} broken={undefined} onChange={setJson} onBreak={() => setJson(undefined)} disabled={isPending} />
        </>
      )}
      {isShown && <Problem error={error} {...(isStatus(error, 404) && { title: strings.memoryIsGone })} />}
      <Flex gap="small" wrap>
        <Button type="primary" htmlType="submit" loading={isPending} data-testid="save-memory">{strings.saveMemory}</Button>
        <Button onClick={onBack} disabled={isPending} data-testid="back-memory">{strings.back}</Button>
      </Flex>
    </form>
  );
}
