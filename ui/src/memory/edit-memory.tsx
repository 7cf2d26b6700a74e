import { Button, Flex } from "antd";
import { useEffect, useId, useRef, useState, type SyntheticEvent } from "react";
import { isStatus, ProblemError, type FieldProblem } from "../api/call";
import { useEditMemory } from "../api/memories";
import type { Json, JsonObject, Memory } from "../api/types";
import { answerOf, fieldProblems, messageAt, type Values } from "../form/values";
import { isObject } from "../api/json";
import { FormFields } from "../form/form-fields";
import { JsonInput } from "../form/json-input";
import { renderedFields } from "../form/schema-field";
import { fieldText } from "../strings/catalogue";
import { useRequestStrings } from "../strings/detail";
import { useKeys } from "../base/keys";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { useMemoryStrings } from "../strings/memory";

/** The state of the form that edits a memory, with its problems. */
function useMemoryForm(memory: Memory, onDone: () => void) {
  const strings = useRequestStrings();
  const fields = renderedFields(memory);
  const [values, setValues] = useState<Values>(memory.answer);
  const [json, setJson] = useState<Json | undefined>(memory.answer);
  const [local, setLocal] = useState<FieldProblem[]>([]);
  const [changedFields, setChangedFields] = useState<ReadonlySet<string>>(new Set());
  // The list is refetched while somebody types; the server compares this time with the last change.
  const [savedAt] = useState(memory.edited_at ?? memory.answered_at);
  const { mutate, isPending, error } = useEditMemory(memory.id, savedAt);
  const data: JsonObject | undefined = fields.length > 0 ? answerOf(fields, values) : isObject(json) ? json : undefined;
  const faults = error instanceof ProblemError ? error.errors : [];
  const serverProblems = faults.map((fault) => ({ field: fault.field, message: fieldText(fault, strings) }));
  const save = () => {
    const found = fieldProblems(fields, values, strings);
    setLocal(found);
    setChangedFields(new Set());
    if (found.length === 0 && data && !isPending) mutate(data, { onSuccess: onDone });
  };
  const change = (next: Values, changed: string) => {
    setValues(next);
    setChangedFields(new Set([...changedFields, changed]));
  };
  const problems = (local.length > 0 ? local : serverProblems).filter(({ field }) => !changedFields.has(field));
  const otherProblems = serverProblems.filter((problem) => !fields.some(({ name }) => messageAt([problem], name)));
  return { fields, values, change, json, setJson, save, isPending, error, problems, otherProblems };
}

/** The request's form, filled with the remembered answer. */
export function EditMemory({ memory, onBack }: { memory: Memory; onBack: () => void }) {
  const strings = useMemoryStrings();
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const { fields, values, change, json, setJson, save, isPending, error, problems, otherProblems } = useMemoryForm(memory, onBack);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, textarea, button")?.focus(), []);
  useKeys(strings.editMemory, [
    { key: "mod+Enter", label: strings.saveMemory, run: save, whileTyping: true, once: true },
    { key: "Escape", label: strings.back, run: onBack, whileTyping: true },
  ]);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    save();
  };
  const showsError = error !== null && (problems.length === 0 || otherProblems.length > 0);
  return (
    <form ref={form} onSubmit={submit} noValidate aria-label={strings.memoryLabel(strings.editMemory, visible(memory.question))}>
      <FormFields fields={fields} values={values} onChange={change} problems={problems} disabled={isPending} />
      {fields.length === 0 && (
        <>
          <label htmlFor={id} className="visually-hidden">{visible(memory.question)}</label>
          <JsonInput id={id} value={json} broken={undefined} onChange={setJson} onBreak={() => setJson(undefined)} disabled={isPending} />
        </>
      )}
      {showsError && <Problem error={error} {...(isStatus(error, 404) && { title: strings.memoryNotFound })} />}
      <Flex gap="small" wrap>
        <Button type="primary" htmlType="submit" loading={isPending} data-testid="save-memory">{strings.saveMemory}</Button>
        <Button onClick={onBack} disabled={isPending} data-testid="back-memory">{strings.back}</Button>
      </Flex>
    </form>
  );
}
