import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Button, Flex, Empty } from "antd";
import { useEffect, useId, useRef, useState, type SyntheticEvent } from "react";
import { call, isStatus, ProblemError, type FieldProblem } from "../api/call";
import { isObject, type JsonObject, type Memory, type Page, type Json } from "../api/types";
import { useKeys } from "../base/keys";
import { Link, requestPath } from "../base/router";
import { visible } from "../base/visible";
import { FormFields } from "../form/form-fields";
import { valueFormatter } from "../form/field";
import { JsonInput } from "../form/json-input";
import { renderedFields } from "../form/schema-field";
import { answerOf, fieldProblems, messageAt, type Values } from "../form/values";
import { fieldText } from "../strings/catalogue";
import { useRequestStrings } from "../strings/detail";
import { useMemoryStrings } from "../strings/memory";
import { AgentText } from "../widgets/agent-text";
import { JsonValue } from "../widgets/json-value";
import { focusedRow, useListKeys } from "../widgets/list-keys";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { dayAndTime } from "../widgets/time-format";
import "./memory.css";

const memoryPath = (id: string) => `/v1/memories/${encodeURIComponent(id)}`;

function path(cursor: string | null): string {
  return `/v1/memories?${new URLSearchParams({ limit: "100", ...(cursor && { cursor }) }).toString()}`;
}

/** The memories of the signed-in person, polled while mounted. */
function useMemories() {
  return useInfiniteQuery({
    queryKey: ["memories"],
    queryFn: ({ pageParam }) => call<Page<Memory>>("GET", path(pageParam)),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    staleTime: 0,
    refetchInterval: 5_000,
  });
}

/** Change one memory, unless it was changed after `savedAt`. */
function useEditMemory(id: string, savedAt: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (data: JsonObject) => call<Memory>("PATCH", memoryPath(id), { data, told_at: savedAt }),
    onSettled: () => client.invalidateQueries({ queryKey: ["memories"] }),
  });
}

/** Delete one memory. */
function useDeleteMemory(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<undefined>("DELETE", memoryPath(id)),
    onSettled: () => client.invalidateQueries({ queryKey: ["memories"] }),
  });
}

/** The inline confirmation before a memory is deleted for good. */
function ConfirmDelete({ memory, onBack }: { memory: Memory; onBack: () => void }) {
  const strings = useMemoryStrings();
  const { mutate, isPending, error } = useDeleteMemory(memory.id);
  useKeys(strings.deleteMemoryTitle, [{ key: "Escape", label: strings.cancelDelete, run: onBack, whileTyping: true }]);
  return (
    <section className="memory-ask" aria-label={strings.deleteMemoryTitle} data-testid="confirm-delete-panel">
      <strong>{strings.deleteMemoryTitle}</strong>
      <p>{strings.deleteMemoryWarning}</p>
      {/* A memory that is already deleted needs no error. */}
      <Problem error={isStatus(error, 404) ? null : error} />
      <Flex gap="small" wrap>
        <Button danger type="primary" loading={isPending} onClick={() => mutate()} data-testid="confirm-delete">
          {strings.deleteMemory}
        </Button>
        <Button autoFocus disabled={isPending} onClick={onBack} data-testid="keep-memory">{strings.cancelDelete}</Button>
      </Flex>
    </section>
  );
}

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
function EditMemory({ memory, onBack }: { memory: Memory; onBack: () => void }) {
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
function MemoryRow({ memory, heading, step, go }: MemoryRowProps) {
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

/** Group the memories by category; the category of the newest question comes first. */
function groupByCategory(memories: Memory[]): Memory[] {
  const groups = new Map<string, Memory[]>();
  for (const memory of memories) groups.set(memory.category, [...(groups.get(memory.category) ?? []), memory]);
  return [...groups.values()].flat();
}

function EmptyMemories() {
  const strings = useMemoryStrings();
  return (
    <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.noMemories} data-testid="no-memories">
      <span className="quiet">{strings.noMemoriesHint}</span>
    </Empty>
  );
}

function Rows({ memories }: { memories: Memory[] }) {
  const strings = useMemoryStrings();
  const list = useRef<HTMLUListElement>(null);
  const [open, setOpen] = useState<{ id: string; step: Step }>();
  const at = (step: Step) => () => {
    const id = focusedRow(list)?.dataset.id;
    if (id) setOpen({ id, step });
  };
  useKeys(strings.memoryPage, [
    ...useListKeys(list, strings.nextMemory, strings.previousMemory),
    { key: "e", label: strings.editMemory, run: at("editing"), once: true },
    { key: "d", label: strings.deleteMemory, run: at("deleting"), once: true },
  ]);
  return (
    <ul ref={list} className="memories" aria-label={strings.memories}>
      {memories.map((memory, n) => (
        <MemoryRow
          key={memory.id} memory={memory} heading={memories[n - 1]?.category === memory.category ? undefined : memory.category}
          step={open?.id === memory.id ? open.step : undefined} go={(step) => setOpen(step && { id: memory.id, step })}
        />
      ))}
    </ul>
  );
}

/** The memories of the signed-in person, to read, change and delete. */
export default function MemoryPage() {
  const strings = useMemoryStrings();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useMemories();
  const memories = groupByCategory(data?.pages.flatMap((page) => page.items) ?? []);
  return (
    <div className="page-column">
      <h1>{strings.memoryPage}</h1>
      <p className="quiet">{strings.memoryHint}</p>
      {error && !data && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading paragraph={{ rows: 6 }} />}
      {data && (memories.length === 0 ? <EmptyMemories /> : <Rows memories={memories} />)}
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{strings.more}</Button>}
    </div>
  );
}
