import { Card, Descriptions } from "antd";
import type { FieldProblem } from "../api/call";
import type { Json, JsonObject, Request } from "../api/types";
import { useStrings } from "../strings";
import { AgentText, JsonValue } from "../widgets/agent-text";
import { visible, visibleJson } from "../widgets/visible";
import { editKey, messageAt } from "./draft";
import { editableOf, type Values } from "./values";
import { ValueEditor } from "./value-editor";

export interface Editing {
  edited: Values;
  onChange: (edited: Values, changed: string) => void;
  problems: FieldProblem[];
  disabled: boolean;
}

const longest = 72;

export function signature(name: string, args: JsonObject): string {
  const whole = Object.entries(args).map(([key, value]) => `${visible(key)}=${visibleJson(value)}`).join(", ");
  return `${visible(name)}(${whole.length > longest || whole.includes("\n") ? "…" : whole})`;
}

function row(request: Request, name: string, before: Json, editing: Editing | undefined) {
  const children = editing ? (
    <ValueEditor
      name={name}
      before={before}
      value={editing.edited[name]}
      onChange={(value) => editing.onChange({ ...editing.edited, [name]: value }, editKey(request, name))}
      disabled={editing.disabled}
      error={messageAt(editing.problems, editKey(request, name))}
    />
  ) : <JsonValue value={before} testId={`fact-${name}`} />;
  return { key: name, label: <code>{visible(name)}</code>, children };
}

interface FactsProps {
  request: Request;
  editing?: Editing | undefined;
}

/** What will happen, from the real call and from nothing that anybody wrote about it. */
function ActionFacts({ request, editing }: FactsProps) {
  const strings = useStrings();
  if (!request.action) return null;
  const { name, args } = request.action;
  const rows = Object.entries(args).map(([key, value]) => row(request, key, value, editing));
  return (
    <Card size="small" title={request.status === "pending" ? strings.whatWillHappen : strings.whatWasAsked} data-testid="facts">
      <code className="signature" data-testid="signature">{signature(name, args)}</code>
      {rows.length > 0
        ? <Descriptions bordered size="small" column={1} items={rows} className="facts" />
        : <p className="quiet">{strings.noArguments}</p>}
    </Card>
  );
}

function FinishFacts({ request, editing }: FactsProps) {
  const strings = useStrings();
  const { summary, task } = request.context ?? {};
  const taskRow = {
    ...row(request, "task", editableOf(request)?.task ?? "", editing),
    label: strings.task,
    ...(!editing && { children: <AgentText text={String(task ?? "")} /> }),
  };
  const summaryRow = { key: "summary", label: strings.summary, children: <AgentText text={String(summary ?? "")} /> };
  return (
    <Card size="small" title={strings.taskFacts} data-testid="facts">
      <Descriptions bordered size="small" column={1} items={[taskRow, summaryRow]} className="facts" />
    </Card>
  );
}

export function Facts(props: FactsProps) {
  return props.request.kind === "finish" ? <FinishFacts {...props} /> : <ActionFacts {...props} />;
}
