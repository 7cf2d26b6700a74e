import { Button, Card, Form, Input, Select } from "antd";
import { useEffect, useRef, useState, type FormEvent, useId } from "react";
import { type FieldProblem, isStatus, type FieldFault } from "../api/call";
import { useStartRun, useAgents } from "../api/threads";
import type { FormField, Json, JsonObject, Agent } from "../api/types";
import { go, threadPagePath } from "../base/router";
import { visible } from "../base/visible";
import { FormFields } from "../form/form-fields";
import { inexactNumber, parseExact } from "../form/json-input";
import { isUnread, lossText } from "../form/number-text";
import { type Values, initialValues } from "../form/values";
import { type Strings, useStrings } from "../strings";
import { fieldText } from "../strings/catalogue";
import { type RequestStrings, useRequestStrings } from "../strings/detail";
import { Problem } from "../widgets/problem";

/** One field of an agent's input; a value without a matching control is typed as JSON. */
interface InputField {
  field: FormField;
  schema: JsonObject;
  isJson: boolean;
}

/** The field name of an input whose schema has no known properties. */
export const WHOLE_INPUT = "(input)";

/** A text that may be longer than this gets a text area. */
const textareaLength = 200;

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const text = (value: Json | undefined): string | null => (typeof value === "string" ? value : null);
const number = (value: Json | undefined): number | null => (typeof value === "number" ? value : null);

/** Resolve a schema's reference and remove the "or null" of an optional value. */
function normalizeSchema(schema: JsonObject, root: JsonObject): JsonObject {
  const name = text(schema.$ref)?.match(/^#\/(?:\$defs|definitions)\/([^/]+)$/)?.[1];
  const named = [root.$defs, root.definitions].flatMap((defs) => (name && isObject(defs) && isObject(defs[name]) ? [defs[name]] : []))[0];
  const { $ref: _, ...own } = schema;
  if (named) return { ...named, ...own };
  const choices = Array.isArray(schema.anyOf) ? schema.anyOf.filter((one) => isObject(one) && one.type !== "null") : [];
  const [only, ...more] = choices;
  if (isObject(only) && more.length === 0) return normalizeSchema({ ...schema, anyOf: null, ...only }, root);
  if (!Array.isArray(schema.type)) return schema;
  const types = schema.type.filter((type) => type !== "null");
  return types.length === 1 ? { ...schema, type: types[0] ?? null } : schema;
}

function optionsOf(schema: JsonObject): FormField["options"] | null {
  const values = Array.isArray(schema.enum) ? schema.enum : [];
  const fit = values.filter((one) => typeof one === "string" || typeof one === "number");
  return values.length > 0 && fit.length === values.length ? fit.map((value) => ({ value, label: String(value) })) : null;
}

function kindOf(schema: JsonObject, root: JsonObject): Partial<FormField> & Pick<FormField, "type"> | null {
  const options = optionsOf(schema);
  if (options) return { type: "select", options };
  const [min, max] = [number(schema.minimum), number(schema.maximum)];
  switch (schema.type) {
    case "integer":
      return { type: "number", min, max, step: number(schema.multipleOf) ?? 1 };
    case "number":
      return { type: "number", min, max, step: number(schema.multipleOf) };
    case "boolean":
      return { type: "boolean" };
    case "string": {
      if (schema.format === "date") return { type: "date" };
      if (schema.format === "date-time") return { type: "datetime" };
      const [min_length, max_length] = [number(schema.minLength), number(schema.maxLength)];
      return { type: (max_length ?? 0) > textareaLength ? "textarea" : "text", min_length, max_length };
    }
    case "array": {
      const several = isObject(schema.items) ? optionsOf(normalizeSchema(schema.items, root)) : null;
      return several ? { type: "multiselect", options: several } : null;
    }
    default:
      return null;
  }
}

function fieldOf(name: string, source: JsonObject, required: boolean, root: JsonObject): InputField {
  const schema = normalizeSchema(source, root);
  const kind = kindOf(schema, root);
  const preset = schema.default ?? undefined;
  const field: FormField = {
    name, required, type: "textarea",
    label: text(schema.title) ?? name,
    help: text(schema.description),
    ...(preset !== undefined && { default: kind ? preset : JSON.stringify(preset, null, 2) }),
    ...kind,
  };
  return { field, schema, isJson: kind === null };
}

/** Return the fields of an agent's input in the schema's order, or one JSON field for the whole input. */
export function inputFields(source: JsonObject | null | undefined): InputField[] {
  const root = source ?? {};
  const schema = normalizeSchema(root, root);
  if (!isObject(schema.properties)) {
    return [{ field: { name: WHOLE_INPUT, label: "JSON", type: "textarea", required: true, default: "{}" }, schema, isJson: true }];
  }
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties)
    .flatMap(([name, one]) => (isObject(one) ? [fieldOf(name, one, required.includes(name), root)] : []));
}

const isEmpty = (value: Json | undefined) =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

type Check = (value: number, bound: number) => boolean;

const bounds: [key: string, isFine: Check, message: (strings: Strings) => (bound: string) => string][] = [
  ["minimum", (value, bound) => value >= bound, (strings) => strings.atLeast],
  ["maximum", (value, bound) => value <= bound, (strings) => strings.atMost],
  ["exclusiveMinimum", (value, bound) => value > bound, (strings) => strings.moreThan],
  ["exclusiveMaximum", (value, bound) => value < bound, (strings) => strings.lessThan],
];

function numberProblem(value: number, schema: JsonObject, strings: Strings): string | undefined {
  if (schema.type === "integer" && !Number.isInteger(value)) return strings.wholeNumber;
  const broken = bounds.find(([key, isFine]) => typeof schema[key] === "number" && !isFine(value, schema[key]));
  return broken && broken[2](strings)(String(schema[broken[0]]));
}

function textProblem(value: string, schema: JsonObject, strings: Strings): string | undefined {
  // JSON Schema counts characters, not the halves of those beyond the first 65,536.
  const length = [...value].length;
  if (typeof schema.minLength === "number" && length < schema.minLength) return strings.inputTooShort(schema.minLength);
  if (typeof schema.maxLength === "number" && length > schema.maxLength) return strings.inputTooLong(schema.maxLength);
  return undefined;
}

function problemWith({ field, schema, isJson }: InputField, value: Json | undefined, strings: RequestStrings): string | undefined {
  if (isEmpty(value)) return field.required ? strings.requiredField : undefined;
  if (isJson) return jsonProblem(field.name, String(value), strings);
  if (isUnread(value)) return strings.cannotBeSent;
  if (typeof value === "number") return numberProblem(value, schema, strings);
  return typeof value === "string" ? textProblem(value, schema, strings) : undefined;
}

const isValid = (name: string, value: Json | undefined) => (name === WHOLE_INPUT ? isObject(value) : value !== undefined);

function jsonProblem(name: string, typed: string, strings: RequestStrings): string | undefined {
  if (isValid(name, parseExact(typed))) return undefined;
  const inexact = inexactNumber(typed);
  return (inexact && lossText(inexact.reading, strings)) ?? strings.invalidJsonInput;
}

/** Return the problems that the page can find before starting; the server checks all other rules. */
export function inputProblems(fields: InputField[], values: Values, strings: RequestStrings): FieldProblem[] {
  return fields.flatMap((one) => {
    const message = problemWith(one, values[one.field.name], strings);
    return message === undefined ? [] : [{ field: one.field.name, message }];
  });
}

/** Return the input to send, without empty values. */
export function inputOf(fields: InputField[], values: Values): JsonObject {
  const whole = fields.find(({ field, isJson }) => isJson && field.name === WHOLE_INPUT) && parseExact(String(values[WHOLE_INPUT]));
  if (isObject(whole)) return whole;
  const input: JsonObject = {};
  for (const { field: { name }, isJson } of fields) {
    const raw = values[name];
    const value = isJson ? parseExact(String(raw)) : raw;
    if (!isEmpty(raw) && value !== undefined) input[name] = value;
  }
  return input;
}

/** The server's name for the thread's name field. */
const NAME = "thread_id";

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
function useStart(agent: Agent) {
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

interface NameFieldProps {
  name: string;
  onChange: (name: string) => void;
  error: string | undefined;
}

function NameField({ name, onChange, error }: NameFieldProps) {
  const strings = useStrings();
  const id = useId();
  const isInvalid = error !== undefined;
  const hint = isInvalid ? { help: <span id={`${id}-hint`} role="alert">{visible(error)}</span> }
    : { extra: <span id={`${id}-hint`}>{strings.threadNameHelp}</span> };
  return (
    <div data-testid="field-thread-name" data-invalid={isInvalid}>
      <Form.Item label={strings.threadName} htmlFor={id} required validateStatus={isInvalid ? "error" : ""} {...hint}>
        <Input
          id={id} data-testid="thread-name" value={name} autoComplete="off" aria-required aria-invalid={isInvalid}
          aria-describedby={`${id}-hint`} onChange={(event) => onChange(event.target.value)}
        />
      </Form.Item>
    </div>
  );
}

function AgentForm({ agent }: { agent: Agent }) {
  const strings = useStrings();
  const { form, fields, values, change, name, rename, problems, start, isPending, error } = useStart(agent);
  return (
    <form ref={form} onSubmit={start} noValidate aria-label={strings.startAgent}>
      {agent.description && <p className="quiet">{visible(agent.description)}</p>}
      <FormFields fields={fields} values={values} onChange={change} problems={problems} disabled={isPending} />
      {fields.length === 0 && <p className="quiet">{strings.noInput}</p>}
      <Form component={false} layout="vertical">
        <NameField name={name} onChange={rename} error={problems.find(({ field }) => field === NAME)?.message} />
      </Form>
      <Problem error={error} />
      <Button type="primary" htmlType="submit" loading={isPending} data-testid="start-run">
        {isPending ? strings.starting : strings.start}
      </Button>
    </form>
  );
}

/** The form that starts an agent and opens its thread. */
export function StartAgent() {
  const strings = useStrings();
  const id = useId();
  const { data, error, refetch } = useAgents();
  const [selectedName, selectName] = useState<string>();
  const agents = data?.items ?? [];
  const agent = agents.find(({ name }) => name === selectedName) ?? agents[0];
  return (
    <Card size="small" title={strings.startAgent} loading={!data && !error} className="start-agent" data-testid="start-agent">
      <Problem error={error} retry={() => void refetch()} />
      {data && !agent && <p className="quiet">{strings.noAgents}</p>}
      {agent && (
        <>
          <Form component={false} layout="vertical">
            <Form.Item label={strings.agent} htmlFor={`${id}-agent`}>
              <Select
                id={`${id}-agent`} data-testid="agent" value={agent.name} onChange={selectName} showSearch={{ optionFilterProp: "label" }}
                options={agents.map(({ name, title }) => ({ value: name, label: visible(title || name) }))}
              />
            </Form.Item>
          </Form>
          <AgentForm key={agent.name} agent={agent} />
        </>
      )}
    </Card>
  );
}
