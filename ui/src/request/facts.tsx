import { Card, Descriptions, Tag } from "antd";
import { Fragment, type ReactNode, Suspense } from "react";
import { isEqual, type Action, type Json, type Request } from "../api/types";
import { lazyWithRetry } from "../base/browser";
import { visible, visibleJson } from "../base/visible";
import type { Values } from "../form/values";
import { useApplications } from "./applications";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { MarkedText } from "../widgets/marked-text";
import { AgentText } from "../widgets/agent-text";
import { JsonValue } from "../widgets/json-value";
import { Loading } from "../widgets/loading";
import { ArgumentEditor, type EditingState } from "./argument-editor";
import { ArgumentList } from "./argument-list";
import { cardWith, declaredCard, quantity, type DeclaredCard } from "./card";
import { argumentsInBlocks, splitBlocks } from "./client-call";
import { editableValues } from "./decisions";
import { folderOf } from "./granting";
import { learningProposalOf } from "./learning-proposal";
import { LastCall } from "./last-call";
import { mainArguments, Signature } from "./signature";

const maxValueLength = 60;

const written = (value: Json | undefined) => (typeof value === "string" ? visible(value) : visibleJson(value));

/** A value of the call: never to be taken for words of the page. */
function Value({ value }: { value: Json }) {
  const text = written(value);
  return <code className="effect-value"><MarkedText text={text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text} /></code>;
}

function Amount({ amount, unit, language }: { amount: Json; unit: string | undefined; language: string }) {
  if (typeof amount === "number") return <strong>{visible(quantity(amount, unit, language))}</strong>;
  return <><Value value={amount} />{unit && ` ${visible(unit)}`}</>;
}

/** Return the parts of the line by name; a part that the card does not have is absent. */
function partsOf(card: DeclaredCard, { stakes, language }: RequestStrings): Record<string, ReactNode> {
  const { effect, amount, unit, target, reversible, limit } = card;
  const path = visible(card.arguments?.target ?? "").replace(/[._]id$/i, "");
  return {
    ...(effect !== undefined && { effect: <strong><MarkedText text={visible(effect)} /></strong> }),
    ...(amount !== undefined && { amount: <Amount amount={amount} unit={unit} language={language} /> }),
    ...(target !== undefined && { target: <>{stakes.target(path)} <Value value={target} /></> }),
    ...(reversible !== undefined && { reversible: <span className="effect-note">{stakes.reversible(typeof reversible === "string" ? visible(reversible) : reversible)}</span> }),
    ...(card.above_limit && limit !== undefined && { limit: <span className="effect-note above-limit">{stakes.aboveLimit(visible(quantity(limit, unit, language)))}</span> }),
  };
}

/** The parts in which the edited call differs are shown before and after the edit. */
function isChanged(name: string, before: DeclaredCard, after: DeclaredCard): boolean {
  const key = ({ amount: "amount", target: "target", limit: "above_limit" } as const)[name];
  return key !== undefined && JSON.stringify(before[key]) !== JSON.stringify(after[key]);
}

/** The call itself, where nobody declares its effect: its tool and its main arguments. */
function CallLine({ action: { name: tool, args }, edited }: { action: Action; edited: Values | undefined }) {
  const scalars = Object.fromEntries(Object.entries(args).filter(([, value]) => typeof value !== "object"));
  const [parts, isAll] = mainArguments(scalars, written);
  const isWhole = isAll && Object.keys(scalars).length === Object.keys(args).length;
  const change = (name: string, text: string) => {
    const [before = null, after = null] = [args[name], edited?.[name]];
    return edited && !isEqual(before, after) ? <><del><Value value={before} /></del> → <ins><Value value={after} /></ins></> : <code className="effect-value"><MarkedText text={text} /></code>;
  };
  return (
    <p className="effect-call" data-testid="effect-call">
      <code>{visible(tool)}</code>
      {parts.map(({ name, text }) => <Fragment key={name}> · <span className="quiet">{visible(name)}</span> {change(name, text)}</Fragment>)}
      {!isWhole && " · …"}
    </p>
  );
}

/** What the call does, as the author of its tool declares it, and with a person's edit; without a declaration the call itself. */
export function EffectLine({ request, edited }: { request: Request; edited: Values | undefined }) {
  const strings = useRequestStrings();
  const declared = declaredCard(request);
  if (!request.action) return null;
  if (!declared) {
    return (
      <div>
        <CallLine action={request.action} edited={edited} />
        <p className="quiet" data-testid="effect" data-declared={false}>{strings.stakes.notDeclared}</p>
      </div>
    );
  }
  const card = edited ? cardWith(declared, edited) : declared;
  const [before, after] = [partsOf(declared, strings), partsOf(card, strings)];
  const names = ["effect", "amount", "target", "reversible", "limit"].filter((name) => before[name] ?? after[name]);
  return (
    <p className="effect" data-testid="effect" data-declared>
      {names.map((name, index) => (
        <Fragment key={name}>
          {index > 0 && " · "}
          {isChanged(name, declared, card)
            ? <>{before[name] && <del>{before[name]}</del>}{before[name] && after[name] && " → "}{after[name] && <ins>{after[name]}</ins>}</>
            : after[name]}
        </Fragment>
      ))}
    </p>
  );
}

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

const DisplayBlocks = lazyWithRetry(() => import("./display-blocks"));

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
        {isInBlocks && <Suspense fallback={<Loading />}><DisplayBlocks blocks={ofCall} folder={folderOf(request)} /></Suspense>}
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
  const LearningFacts = useApplications().find((one) => one.LearningFacts)?.LearningFacts;
  if (learning && LearningFacts) return <LearningFacts request={props.request} editing={props.editing} {...learning} />;
  return props.request.kind === "finish" ? <FinishFacts {...props} /> : <ActionFacts {...props} />;
}
