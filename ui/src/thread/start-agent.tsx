import { Button, Card, Form, Input, Select } from "antd";
import { useId, useState } from "react";
import { useAgents } from "../api/threads";
import type { Agent } from "../api/types";
import { FormFields } from "../form/form-fields";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { NAME, useStart } from "./use-start";

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
