import { Alert, Card, Tag } from "antd";
import type { Request } from "../api/types";
import { TextDiff } from "../request/value-diff";
import { ArgumentEditor, type Editing } from "../request/facts";
import { isObject } from "../request/schema-field";
import { isEqual } from "../request/values";
import { Prose } from "../thread/prose";
import { visible } from "../widgets/visible";
import { SimilarBullets, EvidenceList, Run, TrialResult } from "./evidence";
import { Judgement } from "./judgement";
import type { Asked } from "./of-request";
import type { ProposalContext } from "./types";
import { named, useLearningWords } from "./words";
import "./learning.css";

/** What the playbook will say, as a difference to what it says. */
function Words({ op, before, text }: { op: Asked["operation"]["op"]; before: string | null; text: string }) {
  if (op === "retire") return <del className="agent-text">{visible(before ?? text)}</del>;
  if (before === null) return <ins className="agent-text">{visible(text)}</ins>;
  return <TextDiff before={before} after={text} />;
}

function About({ operation: { op, bullet, sources } }: Pick<Asked, "operation">) {
  const words = useLearningWords();
  if (op === "edit" && bullet) return <>{words.rewrites(visible(bullet))}</>;
  if (op === "retire" && bullet) return <>{words.retires(visible(bullet))}</>;
  if (op === "merge") return <>{words.merges([bullet, ...sources].filter((one) => one !== null).map(visible).join(", "))}</>;
  return null;
}

function Cost({ shown: { tokens, room } }: { shown: ProposalContext }) {
  const words = useLearningWords();
  if (room < 0) return <span className="error-text" data-testid="no-room">{words.noRoom(-room)}</span>;
  return <span className="quiet" data-testid="token-cost">{words.costs(tokens, room)}</span>;
}

/** What a person may change: the text and where it stands; the schema fixes all else. */
function editable({ action }: Request): string[] {
  const properties = isObject(action?.schema?.properties) ? action.schema.properties : {};
  const isFixed = (name: string) => isObject(properties[name]) && properties[name].const !== undefined;
  return ["text", "section"].filter((name) => action?.args[name] !== undefined && !isFixed(name));
}

function Editors({ request, editing }: { request: Request; editing: Editing }) {
  const words = useLearningWords();
  const labels: Record<string, string> = { text: words.textOfBullet, section: words.sectionOfBullet };
  return editable(request).map((name) => (
    <div key={name} className="learn-editor">
      <span className="quiet" aria-hidden="true">{labels[name]}</span>
      <ArgumentEditor request={request} name={name} before={request.action?.args[name] ?? ""} editing={editing} />
    </div>
  ));
}

interface LearningFactsProps extends Asked {
  request: Request;
  editing: Editing | undefined;
}

/** What would be learned, what it rests on, what it costs, and what stands beside it already. */
export function LearningFacts({ request, shown, operation, learned, editing }: LearningFactsProps) {
  const words = useLearningWords();
  const { type, why, before, renewed, feedback } = shown;
  const isOtherText = learned.text !== operation.text;
  const isEdited = editing ? !isEqual(editing.draft.edited, request.action?.args) : isOtherText || learned.section !== operation.section;
  const wasLearned = request.response?.decision === "approve" || request.response?.decision === "edit";
  return (
    <Card
      size="small" className="learn" data-testid="facts"
      title={request.status === "pending" ? words.whatIsLearned : wasLearned ? words.whatWasLearned : words.whatWasProposed}
      extra={isEdited && <Tag color="processing" data-testid="edited">{words.insightEdited}</Tag>}
    >
      {renewed !== null && <Alert type="info" showIcon title={words.renewed[renewed] ?? words.renewedAnyhow} data-testid="renewed" />}
      <div className="learn-what">
        <Tag color={type === "error_pattern" ? "warning" : "processing"} variant="outlined">{named(words.insightTypes, type)}</Tag>
        <span className="quiet">{named(words.sections, learned.section)}</span>
        <span className="quiet"><About operation={operation} /></span>
      </div>
      {editing ? <Editors request={request} editing={editing} /> : (
        <div className="learn-text" data-testid="learn-text"><Words op={operation.op} before={before} text={learned.text} /></div>
      )}
      {!editing && isOtherText && (
        <div className="quiet" data-testid="proposed-text">{words.proposedText} <del className="agent-text">{visible(operation.text)}</del></div>
      )}
      <div className="learn-what"><Judgement feedback={feedback} /><Cost shown={shown} /></div>
      <TrialResult trial={shown.trial} />
      <SimilarBullets shown={shown} />
      <EvidenceList shown={shown} />
      {why && (
        <aside className="agent-context" data-testid="why-learn" aria-label={words.whyLearn}>
          <div className="quiet">{words.whyLearn}</div>
          <Prose text={why} />
        </aside>
      )}
      <Run shown={shown} />
    </Card>
  );
}
