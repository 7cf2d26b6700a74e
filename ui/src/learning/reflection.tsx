import { Alert } from "antd";
import { Disclosure } from "../widgets/disclosure";
import { AgentText } from "../widgets/agent-text";
import { Timestamp } from "../widgets/time";
import { visible } from "../base/visible";
import type { ReflectionSummary, Turn } from "./types";
import { useLearningStrings } from "../strings/learning";

function Lines({ reflected }: { reflected: ReflectionSummary }) {
  const strings = useLearningStrings();
  const lines = [
    [strings.whatWentWrong, reflected.error], [strings.rootCause, reflected.rootCause], [strings.correctApproach, reflected.correctApproach],
    [strings.keyInsight, reflected.keyInsight],
  ].filter(([, text]) => text);
  return (
    <dl className="looked-back">
      {lines.map(([title, text]) => <div key={title}><dt>{title}</dt><dd><AgentText text={text ?? ""} /></dd></div>)}
    </dl>
  );
}

const hasText = (reflected: ReflectionSummary) =>
  Boolean(reflected.error || reflected.rootCause || reflected.correctApproach || reflected.keyInsight);

/** The agent's reflection on its answer. */
export function ReflectionDetails({ turn: { runId, reflected } }: { turn: Turn }) {
  const strings = useLearningStrings();
  if (!reflected) return null;
  return (
    <>
      {reflected.failed && <Alert type="warning" showIcon title={strings.reflectionFailed(visible(reflected.failed))} data-testid="reflection-failed" />}
      {hasText(reflected) && (
        <Disclosure id={`${runId}-looked-back`} testId="looked-back" summary={<span className="quiet">{strings.reflectionTitle}</span>}><Lines reflected={reflected} /></Disclosure>
      )}
    </>
  );
}

/** Proposals that were skipped, with the reasons. */
export function SkippedProposals({ turn: { runId, phase, reflected, insights, suppressed, droppedQuotes, unsupportedInsights } }: { turn: Turn }) {
  const strings = useLearningStrings();
  const isEmpty = phase === "done" && reflected !== null && !reflected.failed && insights.length + suppressed.length + unsupportedInsights === 0;
  return (
    <>
      {isEmpty && <p className="quiet" data-testid="nothing-to-learn">{strings.nothingToLearn}</p>}
      {suppressed.length > 0 && (
        <Disclosure id={`${runId}-suppressed`} testId="suppressed" summary={<span className="quiet">{strings.suppressed(suppressed.length)}</span>}>
          <ul className="learn-list">
            {suppressed.map(({ text, reason, at }) => (
              <li key={text}>
                <AgentText text={text} /> <span className="quiet">{at && <>{strings.rejectedLabel} <Timestamp at={at} /></>}{reason && ` · ${visible(reason)}`}</span>
              </li>
            ))}
          </ul>
        </Disclosure>
      )}
      {unsupportedInsights > 0 && <p className="quiet" data-testid="unsupported-insights">{strings.unsupportedInsights(unsupportedInsights)}</p>}
      {droppedQuotes > 0 && <p className="quiet" data-testid="dropped-quotes">{strings.droppedQuotes(droppedQuotes)}</p>}
    </>
  );
}
