import { Card, Descriptions, Tag } from "antd";
import { Suspense, type ReactNode } from "react";
import type { Json, Request } from "../api/types";
import { isEqual } from "../api/json";
import type { Values } from "../form/values";
import { LearningFacts } from "../learning/facts";
import { learningProposalOf } from "./learning-proposal";
import { useRequestStrings } from "../strings/detail";
import { AgentText, JsonValue, MarkedText } from "../widgets/agent-text";
import { ArgumentList } from "./argument-list";
import { lazyWithRetry } from "../base/lazy";
import { Loading } from "../widgets/loading";
import { visible } from "../base/visible";
import { ArgumentEditor, type EditingState } from "./argument-editor";
import { argumentsInBlocks, splitBlocks } from "./client-call";
import { editableValues } from "./decisions";
import { EffectLine } from "./effect-line";
import { folderOf } from "./granting";
import { LastCall } from "./precedent";
import { Signature, signature } from "./signature";

function editorRow(request: Request, name: string, before: Json, editing: EditingState) {
  return { key: name, label: <code>{visible(name)}</code>, children: <ArgumentEditor request={request} name={name} before={before} editing={editing} /> };
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

/** The arguments as they are; those that the blocks of a client's call show whole are folded. */
function ArgumentRows({ request, isCall }: { request: Request; isCall: boolean }) {
  const { client } = useRequestStrings();
  const inBlocks = isCall ? argumentsInBlocks(request) : new Set<string>();
  const parts = Object.entries(request.action?.args ?? {});
  const [repeated, own] = [parts.filter(([name]) => inBlocks.has(name)), parts.filter(([name]) => !inBlocks.has(name))];
  const schema = request.action?.schema;
  return (
    <>
      {own.length > 0 && <ArgumentList args={Object.fromEntries(own)} schema={schema} />}
      {repeated.length > 0 && (
        <details className="compact call-arguments" data-testid="call-arguments">
          <summary>{client.argumentsAbove(repeated.length)}</summary>
          <ArgumentList args={Object.fromEntries(repeated)} schema={schema} isRaw />
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
  const isEdited = edited !== undefined && !isEqual(edited, args);
  const { ofCall } = splitBlocks(request);
  // The blocks show the call itself; a line with the same arguments would show it twice.
  const isInBlocks = ofCall.length > 0 && !editing && !isEdited;
  return (
    <>
      <EffectLine request={request} edited={edited} />
      {request.status === "pending" && <LastCall request={request} edited={editing?.draft.edited} />}
      <Card
        size="small" data-testid="facts"
        title={<span className="facts-title">{request.status === "pending" ? strings.pendingActionTitle : strings.requestedActionTitle} <Signature name={name} args={args} edited={edited} /></span>}
        extra={isEdited && <Tag color="processing" data-testid="edited">{strings.edited}</Tag>}
      >
        {isInBlocks && <Suspense fallback={<Loading />}><CallBlocks blocks={ofCall} folder={folderOf(request)} /></Suspense>}
        {Object.keys(args).length === 0 && <p className="quiet">{strings.noArguments}</p>}
        {editing
          ? <Descriptions bordered size="small" column={1} className="facts" items={Object.entries(args).map(([key, value]) => editorRow(request, key, value, editing))} />
          : <ArgumentRows request={request} isCall={isInBlocks} />}
      </Card>
    </>
  );
}

function FinishFacts({ request, editing }: FactsProps) {
  const strings = useRequestStrings();
  const { task } = request.context;
  const value = editing
    ? editorRow(request, "task", editableValues(request)?.task ?? "", editing).children
    : typeof task === "string" ? <AgentText text={task} /> : <JsonValue value={task} />;
  const taskRow = { key: "task", label: strings.task, children: value };
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
      <summary>{learning ? <AgentText text={learning.result.text} /> : <code><MarkedText text={signature(request.action.name, request.action.args)} /></code>}</summary>
      {children}
    </details>
  );
}
