import type { ReactNode } from "react";
import { Prose } from "../thread/prose";
import { AgentText } from "../widgets/agent-text";
import { learnedInPath, Link } from "../widgets/router";
import { visible } from "../widgets/visible";
import { BulletRef, EvidenceRef } from "./ref";
import type { Like, ProposalContext, Trial } from "./types";
import { named, useLearningWords } from "./words";

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

const contradicts = ({ flags }: Like) => flags.some((flag) => flag !== "same");

/** Similar bullets of the playbook, possible contradictions first. */
export function SimilarBullets({ shown: { similar } }: { shown: ProposalContext }) {
  const words = useLearningWords();
  const groups = [{ warns: true, of: similar.filter(contradicts) }, { warns: false, of: similar.filter((one) => !contradicts(one)) }];
  return groups.filter(({ of }) => of.length > 0).map(({ warns, of }) => (
    <Part key={String(warns)} title={warns ? words.mayContradict : words.alike} warns={warns} testId={warns ? "contradicts" : "similar"}>
      <ul className="learn-list">
        {of.map(({ bullet, text, score, flags }) => (
          <li key={bullet}>
            <BulletRef id={bullet} /> <AgentText text={text} />{" "}
            <span className="quiet">
              {words.percentAlike(Math.round(score * 100))}{flags.map((flag) => ` · ${named(words.flags, flag)}`).join("")}
            </span>
          </li>
        ))}
      </ul>
    </Part>
  ));
}

/** The verified quotes of a proposal. */
export function EvidenceList({ shown: { evidence } }: { shown: ProposalContext }) {
  const words = useLearningWords();
  if (evidence.length === 0) return <p className="quiet" data-testid="no-evidence">{words.noEvidence}</p>;
  return (
    <Part title={words.evidence} testId="evidence">
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
  const words = useLearningWords();
  if (!trial) return null;
  if (trial.failed !== null) return <p className="quiet" data-testid="trial">{words.trialFailed(visible(trial.failed))}</p>;
  const questions = [...trial.losses.map((text) => ({ text, isLoss: true })), ...trial.wins.map((text) => ({ text, isLoss: false }))];
  return (
    <Part title={words.tried(trial.cases, trial.rightBefore, trial.rightAfter)} warns={trial.losses.length > 0} testId="trial">
      <ul className="learn-list">
        {questions.map(({ text, isLoss }) => (
          <li key={text} data-loss={isLoss}><span className="quiet">{isLoss ? words.trialLoss : words.trialWin}</span> <AgentText text={text} /></li>
        ))}
      </ul>
    </Part>
  );
}

/** The question and answer that the proposal comes from. */
export function Run({ shown: { question, answer, thread_id: thread } }: { shown: ProposalContext }) {
  const words = useLearningWords();
  if (!question) return null;
  return (
    <details className="compact learn-run" data-testid="learn-run">
      <summary>{words.ofRun}</summary>
      <div className="learn-run-body">
        <strong><AgentText text={question} /></strong>
        <Prose text={answer} />
        {thread && <Link to={learnedInPath(thread)}>{words.toRun}</Link>}
      </div>
    </details>
  );
}
