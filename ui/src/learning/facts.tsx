import { Alert, Card, Tag } from "antd";
import type { Request } from "../api/types";
import { TextDiff } from "../form/value-diff";
import { ArgumentEditor, type EditingState } from "../request/argument-editor";
import { isEqual, isObject } from "../api/json";
import { Prose } from "../values/prose";
import { visible } from "../base/visible";
import { EvidenceList, SimilarBullets, SourceRun, TrialResult } from "./evidence";
import { FeedbackSummary } from "./feedback-summary";
import type { LearningProposal, ProposalContext } from "../request/learning-proposal";
import { BulletScope } from "./scope";
import { labelOf, useLearningStrings } from "../strings/learning";
import "./learning.css";

/** The proposed text as a difference from the current one. */
function ProposedText({ op, before, text }: { op: LearningProposal["operation"]["op"]; before: string | null; text: string }) {
  if (op === "retire") return <del className="agent-text">{visible(before ?? text)}</del>;
  if (before === null) return <ins className="agent-text">{visible(text)}</ins>;
  return <TextDiff before={before} after={text} />;
}

function OperationTarget({ operation: { op, bullet, sources } }: Pick<LearningProposal, "operation">) {
  const strings = useLearningStrings();
  if (op === "edit" && bullet) return <>{strings.rewritesBullet(visible(bullet))}</>;
  if (op === "retire" && bullet) return <>{strings.retiresBullet(visible(bullet))}</>;
  if (op === "merge") return <>{strings.mergesBullets([bullet, ...sources].filter((one) => one !== null).map(visible).join(", "))}</>;
  return null;
}

function Cost({ context: { tokens, room } }: { context: ProposalContext }) {
  const strings = useLearningStrings();
  if (room < 0) return <span className="error-text" data-testid="no-room">{strings.budgetExceeded(-room)}</span>;
  return <span className="quiet" data-testid="token-cost">{strings.tokenCost(tokens, room)}</span>;
}

/** Return the arguments that a person may change: text, scope and section, unless the schema fixes them. */
function editableArgs({ action }: Request): string[] {
  const properties = isObject(action?.schema?.properties) ? action.schema.properties : {};
  const isFixed = (name: string) => isObject(properties[name]) && properties[name].const !== undefined;
  return ["text", "applies_when", "section"].filter((name) => action?.args[name] !== undefined && !isFixed(name));
}

function Editors({ request, editing }: { request: Request; editing: EditingState }) {
  const strings = useLearningStrings();
  const labels: Record<string, string> = { text: strings.bulletText, applies_when: strings.bulletScope, section: strings.bulletSection };
  return editableArgs(request).map((name) => (
    <div key={name} className="learn-editor">
      <span className="quiet" aria-hidden="true">{labels[name]}</span>
      <ArgumentEditor request={request} name={name} before={request.action?.args[name] ?? ""} editing={editing} />
    </div>
  ));
}

interface LearningFactsProps extends LearningProposal {
  request: Request;
  editing: EditingState | undefined;
}

/** The facts of a proposal: its text, evidence, token cost and similar bullets. */
export function LearningFacts({ request, context, operation, result, editing }: LearningFactsProps) {
  const strings = useLearningStrings();
  const { type, why, before, renewed, feedback } = context;
  const isOtherText = result.text !== operation.text;
  const isOtherPlace = result.section !== operation.section || result.applies_when !== operation.applies_when;
  const isEdited = editing ? !isEqual(editing.draft.edited, request.action?.args) : isOtherText || isOtherPlace;
  const wasLearned = request.response?.decision === "approve" || request.response?.decision === "edit";
  return (
    <Card
      size="small" className="learn" data-testid="facts"
      title={request.status === "pending" ? strings.newEntryTitle : wasLearned ? strings.learnedEntryTitle : strings.proposalTitle}
      extra={isEdited && <Tag color="processing" data-testid="edited">{strings.insightEdited}</Tag>}
    >
      {renewed !== null && <Alert type="info" showIcon title={strings.repeatReasons[renewed] ?? strings.repeatedQuestion} data-testid="renewed" />}
      <div className="learn-what">
        <Tag color={type === "error_pattern" ? "warning" : "processing"} variant="outlined">{labelOf(strings.insightTypes, type)}</Tag>
        <span className="quiet">{labelOf(strings.sections, result.section)}</span>
        <span className="quiet"><OperationTarget operation={operation} /></span>
      </div>
      {editing ? <Editors request={request} editing={editing} /> : (
        <div className="learn-text" data-testid="learn-text"><ProposedText op={operation.op} before={before} text={result.text} /></div>
      )}
      {!editing && <BulletScope scope={result.applies_when} />}
      {!editing && isOtherText && (
        <div className="quiet" data-testid="proposed-text">{strings.originalProposal} <del className="agent-text">{visible(operation.text)}</del></div>
      )}
      <div className="learn-what"><FeedbackSummary feedback={feedback} /><Cost context={context} /></div>
      <TrialResult trial={context.trial} />
      <SimilarBullets context={context} />
      <EvidenceList context={context} />
      {why && (
        <aside className="agent-context" data-testid="why-learn" aria-label={strings.rationale}>
          <div className="quiet">{strings.rationale}</div>
          <Prose text={why} />
        </aside>
      )}
      <SourceRun context={context} />
    </Card>
  );
}
