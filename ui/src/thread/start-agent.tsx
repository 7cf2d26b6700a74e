import { Button, Card, Form, Input, Select } from "antd";
import { useId, useState } from "react";
import { isStatus, type FieldProblem } from "../api/call";
import { useAgents, useStartRun } from "../api/threads";
import type { Agent } from "../api/types";
import { FormFields } from "../request/form-fields";
import { answerOf, initialValues, missing, type Values } from "../request/values";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";
import { go, threadPagePath } from "../widgets/router";
import { visible } from "../widgets/visible";
import { inputFields } from "./input-form";

function randomName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(5));
  return `thread-${Array.from(bytes, (byte) => (byte % 36).toString(36)).join("")}`;
}

function withoutPrefix(problems: FieldProblem[]): FieldProblem[] {
  return problems.map(({ field, message }) => ({ field: field.replace(/^input\./, ""), message }));
}

function AgentForm({ agent, thread }: { agent: Agent; thread: string }) {
  const strings = useStrings();
  const fields = inputFields(agent.input_schema);
  const [values, setValues] = useState<Values>(() => initialValues(fields));
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const run = useStartRun();
  const start = () => {
    const empty = missing(fields, values).map((field) => ({ field, message: strings.requiredField }));
    setProblems(empty);
    if (empty.length > 0 || !thread) return;
    run.mutate({ thread, agent: agent.name, input: answerOf(fields, values) }, {
      onSuccess: () => go(threadPagePath(thread)),
      onError: (error) => isStatus(error, 422) && setProblems(withoutPrefix(error.errors)),
    });
  };
  return (
    <>
      {agent.description && <p className="quiet">{visible(agent.description)}</p>}
      <FormFields fields={fields} values={values} onChange={setValues} problems={problems} disabled={run.isPending} />
      <Problem error={run.error} />
      <Button type="primary" onClick={start} loading={run.isPending} disabled={!thread} data-testid="start-run">
        {run.isPending ? strings.starting : strings.start}
      </Button>
    </>
  );
}

export function StartAgent() {
  const strings = useStrings();
  const id = useId();
  const { data, error, refetch } = useAgents();
  const [thread, setThread] = useState(randomName);
  const [chosen, setChosen] = useState<string>();
  const agents = data?.items ?? [];
  const agent = agents.find(({ name }) => name === chosen) ?? agents[0];
  return (
    <Card size="small" title={strings.startAgent} loading={!data && !error}>
      <Problem error={error} retry={() => void refetch()} />
      {data && !agent && <p className="quiet">{strings.noAgents}</p>}
      {agent && (
        <>
          <Form component={false} layout="vertical">
            <Form.Item label={strings.agent} htmlFor={`${id}-agent`}>
              <Select
                id={`${id}-agent`} data-testid="agent" value={agent.name} onChange={setChosen}
                options={agents.map(({ name, title }) => ({ value: name, label: visible(title || name) }))}
              />
            </Form.Item>
            <Form.Item label={strings.threadName} htmlFor={`${id}-thread`} required>
              <Input id={`${id}-thread`} data-testid="thread-name" value={thread} onChange={(e) => setThread(e.target.value.trim())} />
            </Form.Item>
          </Form>
          <AgentForm key={agent.name} agent={agent} thread={thread} />
        </>
      )}
    </Card>
  );
}
