import type { ReactNode } from "react";
import { Prose } from "../values/prose";
import { AgentText } from "../widgets/agent-text";
import { learningRunPath, Link } from "../base/router";
import { visible } from "../base/visible";
import { BulletRef, EvidenceRef } from "./ref";
import type { SimilarBullet } from "./types";
import type { ProposalContext, Trial } from "../request/learning-proposal";
import { labelOf, useLearningStrings } from "../strings/learning";

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
export function SimilarBullets({ context: { similar } }: { context: ProposalContext }) {
  const strings = useLearningStrings();
  const groups = [{ warns: true, of: similar.filter(contradicts) }, { warns: false, of: similar.filter((one) => !contradicts(one)) }];
  return groups.filter(({ of }) => of.length > 0).map(({ warns, of }) => (
    <Part key={String(warns)} title={warns ? strings.mayContradict : strings.similarBullets} warns={warns} testId={warns ? "contradicts" : "similar"}>
      <ul className="learn-list">
        {of.map(({ bullet, text, score, flags }) => (
          <li key={bullet}>
            <BulletRef id={bullet} /> <AgentText text={text} />{" "}
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
export function EvidenceList({ context: { evidence } }: { context: ProposalContext }) {
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
export function TrialResult({ trial }: { trial: Trial | null }) {
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
export function SourceRun({ context: { question, answer, thread_id: thread } }: { context: ProposalContext }) {
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
