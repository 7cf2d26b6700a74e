import { Button, Input, Alert } from "antd";
import { useId, useState } from "react";
import { useKeys } from "../../base/keys";
import { visible } from "../../base/visible";
import { useLearningStrings } from "./strings";
import { FailureReason } from "../../thread/failure-reason";
import type { Item, StreamState } from "../../thread/stream";
import { Prose } from "../../values/prose";
import { AgentText } from "../../widgets/agent-text";
import { Disclosure } from "../../widgets/disclosure";
import { Problem } from "../../widgets/problem";
import { Timestamp } from "../../widgets/timestamp";
import { useFeedback, type NewFeedback, type ReflectionSummary, type Turn } from "./api";
import { FeedbackSummary } from "./feedback-summary";
import { Proposals } from "./proposals";
import { NoteRef } from "./note-ref";
import { WorkingSpinner } from "./working-spinner";

function Thumb({ up }: { up: boolean }) {
  return (
    <svg className="thumb" viewBox="0 0 16 16" aria-hidden="true" data-up={up}>
      <path d="M5.5 7 8.2 1.8a1.5 1.5 0 0 1 1.7 1.8L9.4 6h3.3a1.4 1.4 0 0 1 1.4 1.7l-1 4.7a1.6 1.6 0 0 1-1.5 1.2H5.5zM2 7h2v6.6H2z" />
    </svg>
  );
}

interface FeedbackTextProps {
  verdict: NewFeedback["verdict"];
  isSending: boolean;
  onSend: (text: string) => void;
  onBack: () => void;
}

function FeedbackText({ verdict, isSending, onSend, onBack }: FeedbackTextProps) {
  const strings = useLearningStrings();
  const id = useId();
  const [text, type] = useState("");
  const send = () => onSend(text.trim());
  useKeys(strings.feedbackQuestion, [
    { key: "mod+Enter", label: strings.sendFeedback, run: send, whileTyping: true, once: true },
    { key: "Escape", label: strings.back, run: onBack, whileTyping: true },
  ]);
  return (
    <div className="say-words">
      <label htmlFor={id} className="quiet">{strings.feedbackPlaceholders[verdict]}</label>
      <Input.TextArea
        id={id} autoFocus autoSize={{ minRows: 2, maxRows: 8 }} value={text} maxLength={20_000} readOnly={isSending} data-testid="feedback-text"
        onChange={(event) => type(event.target.value)}
      />
      <div className="button-bar">
        <Button type="primary" loading={isSending} onClick={send} data-testid="send-feedback">{strings.sendFeedback}</Button>
        <Button disabled={isSending} onClick={onBack}>{strings.back}</Button>
      </div>
    </div>
  );
}

/** Form for feedback on an answer; the agent then reflects again. */
function FeedbackForm({ id, turn }: { id: string; turn: string }) {
  const strings = useLearningStrings();
  const [verdict, choose] = useState<NewFeedback["verdict"]>();
  const { mutate, isPending, isSuccess, error } = useFeedback(id);
  if (isSuccess) return <p className="quiet" data-testid="feedback-sent">{strings.feedbackSent}</p>;
  const send = (text: string) => verdict && mutate({ verdict, turn, ...(text && { text }) });
  return (
    <fieldset className="say" aria-label={strings.feedbackQuestion} data-testid="say">
      <div className="button-bar">
        <span className="quiet">{strings.feedbackQuestion}</span>
        {(["right", "wrong"] as const).map((one) => (
          <Button
            key={one} size="small" aria-pressed={verdict === one}
            disabled={isPending} onClick={() => choose(one)} data-testid={`say-${one}`}
          >
            <Thumb up={one === "right"} />{one === "right" ? strings.answerIsRight : strings.answerIsWrong}
          </Button>
        ))}
      </div>
      {verdict && <FeedbackText key={verdict} verdict={verdict} isSending={isPending} onSend={send} onBack={() => choose(undefined)} />}
      <Problem error={error} />
    </fieldset>
  );
}

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
function ReflectionDetails({ turn: { runId, reflected } }: { turn: Turn }) {
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
function SkippedProposals({ turn: { runId, phase, reflected, insights, suppressed, droppedQuotes, unsupportedInsights } }: { turn: Turn }) {
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

/** Return the items of the newest run of a thread. */
function newestRun({ items }: StreamState): Item[] {
  return items.slice(items.findLastIndex((item) => item.kind === "run" && item.reason === "started") + 1);
}

/** Return the text that the agent is writing now; text before a tool call is not the answer. */
function partialText(items: Item[]): string {
  const last = items.findLast(({ kind }) => kind === "message" || kind === "tool");
  return last?.kind === "message" && last.role === "assistant" ? last.text : "";
}

function currentTool(items: Item[]): string | undefined {
  const last = items.findLast(({ kind }) => kind === "message" || kind === "tool");
  return last?.kind === "tool" ? last.name : undefined;
}

/** An unfinished answer: its text so far, and the current activity. */
function PartialAnswer({ stream }: { stream: StreamState }) {
  const strings = useLearningStrings();
  const items = newestRun(stream);
  const text = partialText(items);
  const tool = currentTool(items);
  return (
    <>
      {text && <div data-testid="answer" aria-busy="true"><Prose text={text} /></div>}
      <WorkingSpinner label={strings.phaseLabels.answering} more={tool && strings.agentWaitsForTool(visible(tool))} />
    </>
  );
}

/** The answer and the notes that it uses. */
export function Answer({ turn: { response, references, bullets } }: { turn: Turn }) {
  const strings = useLearningStrings();
  const others = references.filter(({ source, noteId }) => source !== "playbook" || !bullets.includes(noteId));
  return (
    <>
      <div data-testid="answer"><Prose text={response ?? ""} /></div>
      {others.length + bullets.length > 0 && (
        <ul className="refs" aria-label={strings.notes} data-testid="refs">
          {others.map((note) => <li key={`${note.source}/${note.noteId}`}><NoteRef note={note} /></li>)}
          {bullets.map((id) => <li key={id}><NoteRef note={{ source: "playbook", noteId: id }} /></li>)}
        </ul>
      )}
    </>
  );
}

interface TurnProps {
  id: string;
  turn: Turn;
  /** The stream of its thread; undefined if it is not followed. */
  stream: StreamState | undefined;
  /** True if the answer already has feedback from a person. */
  isJudged: boolean;
  playbook: string | undefined;
  onAllDecided: () => void;
}

/** The question of a turn, or the feedback that started it. */
function TurnHeading({ turn: { parent, query, feedback } }: { turn: Turn }) {
  const strings = useLearningStrings();
  if (parent === null) return <h2 className="asked agent-text" data-testid="question">{visible(query)}</h2>;
  return (
    <h2 className="asked" data-testid="said-of-answer">
      {strings.yourFeedback[feedback?.verdict ?? "unknown"]}{feedback?.text && <div className="asked-words"><AgentText text={feedback.text} /></div>}
    </h2>
  );
}

const emptyStream: StreamState = { last: 0, phase: "idle", values: undefined, events: [], items: [] };

/** A question, its answer and the proposals from both. */
export function TurnView({ id, turn, stream, isJudged, playbook, onAllDecided }: TurnProps) {
  const strings = useLearningStrings();
  const { parent, phase, response, feedback, insights, runId, error } = turn;
  const isFeedback = parent !== null;
  const isWorking = error === null && (phase === "answering" || phase === "reflecting");
  return (
    <article className="turn" data-testid="turn" data-phase={phase} data-run={runId} data-parent={parent}>
      <TurnHeading turn={turn} />
      {!isFeedback && response !== null && <Answer turn={turn} />}
      {!isFeedback && response === null && isWorking && <PartialAnswer stream={stream ?? emptyStream} />}
      {isWorking && (response !== null || isFeedback) && <WorkingSpinner label={strings.phaseLabels.reflecting} />}
      {phase === "done" && !isFeedback && response === null && error === null && <p className="quiet" data-testid="stopped">{strings.stoppedBeforeAnswer}</p>}
      {error !== null && <Alert type="error" showIcon title={strings.runFailed} description={<FailureReason why={error} />} data-testid="turn-error" />}
      {!isFeedback && (
        <div className="turn-judged">
          {feedback && <FeedbackSummary feedback={feedback} />}
          {!isWorking && response !== null && !isJudged && feedback?.source !== "user" && <FeedbackForm id={id} turn={runId} />}
        </div>
      )}
      <ReflectionDetails turn={turn} />
      <Proposals insights={insights} playbook={playbook} onAllDecided={onAllDecided} />
      <SkippedProposals turn={turn} />
    </article>
  );
}
