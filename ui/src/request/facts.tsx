import { Card, Descriptions, Tag } from "antd";
import { Suspense, type ReactNode } from "react";
import type { Json, Request } from "../api/types";
import { isEqual, type Values } from "../form/values";
import { LearningFacts } from "../learning/facts";
import { learningProposalOf } from "../learning/proposal";
import { useRequestStrings } from "../strings/use-request-strings";
import { AgentText, JsonValue } from "../widgets/agent-text";
import { lazyWithRetry } from "../widgets/lazy";
import { Loading } from "../widgets/loading";
import { visible } from "../widgets/visible";
import { ArgumentEditor, type EditingState } from "./argument-editor";
import { argumentsInBlocks, splitBlocks } from "./client-call";
import { editableValues } from "./decisions";
import { EffectLine } from "./effect-line";
import { folderOf } from "./granting";
import { Signature, signature } from "./signature";

function row(request: Request, name: string, before: Json, editing: EditingState | undefined) {
  const children = editing
    ? <ArgumentEditor request={request} name={name} before={before} editing={editing} />
    : <JsonValue value={before} testId={`fact-${name}`} />;
  return { key: name, label: <code>{visible(name)}</code>, children };
}

interface FactsProps {
  request: Request;
  editing?: EditingState | undefined;
}

/** Return the arguments with which the action will run, or ran. */
function effectiveArgs(request: Request, editing: EditingState | undefined): Values | undefined {
  return editing?.draft.edited ?? request.response?.args ?? undefined;
}

const CallBlocks = lazyWithRetry(() => import("./call-blocks"));

type Row = ReturnType<typeof row>;

function Rows({ rows }: { rows: Row[] }) {
  return <Descriptions bordered size="small" column={1} items={rows} className="facts" />;
}

/** The arguments of a client's call; those that the blocks above show whole are folded. */
function CallRows({ request, rows }: { request: Request; rows: Row[] }) {
  const { client } = useRequestStrings();
  const inBlocks = argumentsInBlocks(request);
  const [repeated, own] = [rows.filter(({ key }) => inBlocks.has(key)), rows.filter(({ key }) => !inBlocks.has(key))];
  return (
    <>
      {own.length > 0 && <Rows rows={own} />}
      {repeated.length > 0 && (
        <details className="compact call-arguments" data-testid="call-arguments">
          <summary>{client.argumentsAbove(repeated.length)}</summary>
          <Rows rows={repeated} />
        </details>
      )}
    </>
  );
}

/** Show what will run, from the action itself and not from the agent's description. */
function ActionFacts({ request, editing }: FactsProps) {
  const strings = useRequestStrings();
  if (!request.action) return null;
  const { name, args } = request.action;
  const edited = effectiveArgs(request, editing);
  const rows = Object.entries(args).map(([key, value]) => row(request, key, value, editing));
  const isEdited = edited !== undefined && !isEqual(edited, args);
  const { ofCall } = splitBlocks(request);
  return (
    <>
      <EffectLine request={request} edited={edited} />
      <Card
        size="small" data-testid="facts"
        title={request.status === "pending" ? strings.pendingActionTitle : strings.requestedActionTitle}
        extra={isEdited && <Tag color="processing" data-testid="edited">{strings.edited}</Tag>}
      >
        {ofCall.length > 0 && !editing && <Suspense fallback={<Loading />}><CallBlocks blocks={ofCall} folder={folderOf(request)} /></Suspense>}
        <Signature name={name} args={args} edited={edited} />
        {rows.length === 0 && <p className="quiet">{strings.noArguments}</p>}
        {rows.length > 0 && (ofCall.length > 0 && !editing ? <CallRows request={request} rows={rows} /> : <Rows rows={rows} />)}
      </Card>
    </>
  );
}

function FinishFacts({ request, editing }: FactsProps) {
  const strings = useRequestStrings();
  const { task } = request.context;
  const taskRow = {
    ...row(request, "task", editableValues(request)?.task ?? "", editing),
    label: strings.task,
    ...(!editing && { children: typeof task === "string" ? <AgentText text={task} /> : <JsonValue value={task} /> }),
  };
  return (
    <Card size="small" title={strings.taskFacts} data-testid="facts">
      <Descriptions bordered size="small" column={1} items={[taskRow]} className="facts" />
    </Card>
  );
}

export function Facts(props: FactsProps) {
  const learning = learningProposalOf(props.request);
  if (learning) return <LearningFacts request={props.request} editing={props.editing} {...learning} />;
  return props.request.kind === "finish" ? <FinishFacts {...props} /> : <ActionFacts {...props} />;
}

/** Hide the facts of a call behind its signature where they are already shown in other words. */
export function CollapsibleFacts({ request, isCollapsed, children }: { request: Request; isCollapsed: boolean; children: ReactNode }) {
  const learning = learningProposalOf(request);
  if (!isCollapsed || !request.action) return children;
  return (
    <details className="compact collapsible-facts">
      <summary>{learning ? <AgentText text={learning.result.text} /> : <code>{signature(request.action.name, request.action.args)}</code>}</summary>
      {children}
    </details>
  );
}
