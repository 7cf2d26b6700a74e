import { useEffect, useRef, useState, type FormEvent } from "react";
import { isStatus, type FieldFault, type FieldProblem } from "../api/call";
import { useStartRun } from "../api/threads";
import type { Agent } from "../api/types";
import { initialValues, type Values } from "../form/values";
import type { Strings } from "../strings";
import { fieldText } from "../strings/catalogue";
import { useRequestStrings } from "../strings/detail";
import { go, threadPagePath } from "../base/router";
import { inputOf, inputProblems } from "./input-checks";
import { inputFields, WHOLE_INPUT } from "./input-form";

/** The server's name for the thread's name field. */
export const NAME = "thread_id";

function randomPart(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(5));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join("");
}

/** Map the server's field paths to the form's fields. */
function atFields(faults: FieldFault[], strings: Strings): FieldProblem[] {
  return faults.map((fault) => (
    { field: fault.field === "input" ? WHOLE_INPUT : fault.field.replace(/^input\./, ""), message: fieldText(fault, strings) }));
}

/** Focus the first invalid field after each refusal. */
function useRefusals() {
  const form = useRef<HTMLFormElement>(null);
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [refusals, setRefusals] = useState(0);
  useEffect(() => {
    if (refusals > 0) form.current?.querySelector<HTMLElement>('[data-invalid="true"] :is(input, textarea, button)')?.focus();
  }, [refusals]);
  const refuse = (found: FieldProblem[]) => {
    setProblems(found);
    setRefusals((count) => count + 1);
  };
  const clearProblem = (changed: string) => setProblems((old) => old.filter(({ field }) => field !== changed));
  return { form, problems, setProblems, refuse, clearProblem };
}

/** The state of the form that starts an agent. */
export function useStart(agent: Agent) {
  const strings = useRequestStrings();
  const run = useStartRun();
  const inputs = inputFields(agent.input_schema);
  const fields = inputs.map(({ field }) => field);
  const [values, setValues] = useState<Values>(() => initialValues(fields));
  const [name, setName] = useState(() => `${agent.name}-${randomPart()}`);
  const { form, problems, setProblems, refuse, clearProblem } = useRefusals();

  const onError = (error: Error) => {
    if (isStatus(error, 409)) refuse([{ field: NAME, message: strings.nameTaken }]);
    if (isStatus(error, 422)) refuse(atFields(error.errors, strings));
  };
  const start = (event: FormEvent) => {
    event.preventDefault();
    if (run.isPending) return;
    const thread = name.trim();
    const problemsFound = inputProblems(inputs, values, strings);
    if (!thread) problemsFound.push({ field: NAME, message: strings.requiredField });
    if (problemsFound.length > 0) return refuse(problemsFound);
    setProblems([]);
    run.mutate({ thread, agent: agent.name, input: inputOf(inputs, values) }, {
      onSuccess: () => go(threadPagePath(thread)), onError,
    });
  };
  const change = (changed: Values, which: string) => {
    setValues(changed);
    clearProblem(which);
  };
  const rename = (newName: string) => {
    setName(newName);
    clearProblem(NAME);
  };
  // Errors of a field are shown at the field; all others below the form.
  const knownFields = [NAME, ...fields.map((field) => field.name)];
  const isShownAtFields = problems.length > 0 && problems.every(({ field }) => knownFields.includes(field.split(/[.[]/)[0] ?? ""));
  return { form, fields, values, change, name, rename, problems, start, isPending: run.isPending, error: isShownAtFields ? null : run.error };
}
