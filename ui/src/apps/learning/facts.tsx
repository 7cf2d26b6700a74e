import type { LearningFactsProps } from "../../request/applications";
import { Alert, Card, Tag } from "antd";
import type { ReactNode } from "react";
import { isEqual, isObject, type Request } from "../../api/types";
import { learningRunPath } from "./paths";
import { Link } from "../../base/router";
import { visible } from "../../base/visible";
import { TextDiff } from "../../form/text-diff";
import { ArgumentEditor, type EditingState } from "../../request/argument-editor";
import type { ProposalContext, Trial, LearningProposal } from "../../request/learning-proposal";
import { labelOf, useLearningStrings } from "./strings";
import { Prose } from "../../values/prose";
import { AgentText } from "../../widgets/agent-text";
import type { SimilarBullet } from "./api";
import { FeedbackSummary } from "./feedback-summary";
import { NoteRef } from "./note-ref";
import { EvidenceRef } from "./evidence-ref";
import { BulletScope } from "./scope";
import "./learning.css";

interface PartProps {
  title: ReactNode;
  testId: string;
  children: ReactNode;
  warns?: boolean;
}

function Part({ title, testId, children, warns = false }: PartProps) {
  return (
    <div className={warns ? "learn-part learn-warns" : "learn-part"} data-testid={testId}>
      <div className={warns ? "learn-title" : "learn-title quiet"}>{warns && <span aria-hidden="true">⚠︎ </span>}{title}</div>
      {children}
    </div>
  );
}

const contradicts = ({ flags }: SimilarBullet) => flags.some((flag) => flag !== "same");

/** Similar bullets of the playbook, possible contradictions first. */
function SimilarBullets({ context: { similar } }: { context: ProposalContext }) {
  const strings = useLearningStrings();
  const groups = [{ warns: true, of: similar.filter(contradicts) }, { warns: false, of: similar.filter((one) => !contradicts(one)) }];
  return groups.filter(({ of }) => of.length > 0).map(({ warns, of }) => (
    <Part key={String(warns)} title={warns ? strings.mayContradict : strings.similarBullets} warns={warns} testId={warns ? "contradicts" : "similar"}>
      <ul className="learn-list">
        {of.map(({ bullet, text, score, flags }) => (
          <li key={bullet}>
            <NoteRef note={{ source: "playbook", noteId: bullet }} label={visible(bullet)} /> <AgentText text={text} />{" "}
            <span className="quiet">
              {strings.similarityPercent(Math.round(score * 100))}{flags.map((flag) => ` · ${labelOf(strings.similarityFlags, flag)}`).join("")}
            </span>
          </li>
        ))}
      </ul>
    </Part>
  ));
}

/** The verified quotes of a proposal. */
function EvidenceList({ context: { evidence } }: { context: ProposalContext }) {
  const strings = useLearningStrings();
  if (evidence.length === 0) return <p className="quiet" data-testid="no-evidence">{strings.noEvidence}</p>;
  return (
    <Part title={strings.evidence} testId="evidence">
      <ul className="learn-list">
        {evidence.map(({ where, ref, quote }) => (
          <li key={`${where} ${ref} ${quote}`}>
            <q>{visible(quote)}</q> <EvidenceRef where={where} reference={ref} />
          </li>
        ))}
      </ul>
    </Part>
  );
}

/** Results of the test questions, losses before wins. */
function TrialResult({ trial }: { trial: Trial | null }) {
  const strings = useLearningStrings();
  if (!trial) return null;
  if (trial.failed !== null) return <p className="quiet" data-testid="trial">{strings.trialFailed(visible(trial.failed))}</p>;
  const questions = [...trial.losses.map((text) => ({ text, isLoss: true })), ...trial.wins.map((text) => ({ text, isLoss: false }))];
  return (
    <Part title={strings.trialResult(trial.cases, trial.rightBefore, trial.rightAfter)} warns={trial.losses.length > 0} testId="trial">
      <ul className="learn-list">
        {questions.map(({ text, isLoss }) => (
          <li key={text} data-loss={isLoss}><span className="quiet">{isLoss ? strings.trialLoss : strings.trialWin}</span> <AgentText text={text} /></li>
        ))}
      </ul>
    </Part>
  );
}

/** The question and answer that the proposal comes from. */
function SourceRun({ context: { question, answer, thread_id: thread } }: { context: ProposalContext }) {
  const strings = useLearningStrings();
  if (!question) return null;
  return (
    <details className="compact learn-run" data-testid="learn-run">
      <summary>{strings.sourceRun}</summary>
      <div className="learn-run-body">
        <strong><AgentText text={question} /></strong>
        <Prose text={answer} />
        {thread && <Link to={learningRunPath(thread)}>{strings.goToRun}</Link>}
      </div>
    </details>
  );
}

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

/** The facts of a proposal: its text, evidence, token cost and similar bullets. */
export default function LearningFacts({ request, context, operation, result, editing }: LearningFactsProps) {
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
