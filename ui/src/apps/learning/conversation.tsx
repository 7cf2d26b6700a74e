import { Input, Alert, Button } from "antd";
import { useState, useId, useCallback, useEffect, useRef } from "react";
import { isStatus } from "../../api/call";
import { isObject, type Agent } from "../../api/types";
import { useRunAction } from "../../api/threads";
import { useKeys } from "../../base/keys";
import { visible } from "../../base/visible";
import { Composer, useMessageDraft, useImages } from "../../chat/composer";
import { useLearningStrings } from "./strings";
import { FailureReason } from "../../thread/failure-reason";
import { useStream } from "../../thread/stream";
import { Loading } from "../../widgets/loading";
import { Problem } from "../../widgets/problem";
import { useAsk, useConversation, type Turn, useRefreshConversation, type Conversation } from "./api";
import { TurnView } from "./turn";
import { WorkingSpinner } from "./working-spinner";

interface ConversationProps {
  id: string;
  agent: Agent;
  isNew: boolean;
  playbook: string | undefined;
  /** The key of the unsent question; a conversation without a URL has none of its own. */
  draftKey: string;
  onBegin: () => void;
}

/** Build the turn of a question that was sent but is not in the conversation yet. */
function localTurn(query: string, run: string, thread: string): Turn {
  return {
    runId: run, threadId: thread, query, response: null, references: [], bullets: [], at: "", phase: "answering", feedback: null, reflected: null,
    insights: [], suppressed: [], droppedQuotes: 0, unsupportedInsights: 0, usage: { answer: null, reflect: null }, parent: null, error: null,
  };
}

/** Return the turns of the conversation, including a question that was just sent. */
function useConversationTurns({ id, agent, isNew, onBegin }: ConversationProps) {
  const [isStarted, setStarted] = useState(!isNew);
  const [startedAt, setStartedAt] = useState(Infinity);
  const ask = useAsk(id);
  const { data, dataUpdatedAt, error, refetch } = useConversation(id, isStarted);
  const { variables, isPending, data: started, isError } = ask;
  const serverTurns = data?.turns ?? [];
  const isOnServer = started !== undefined && serverTurns.some(({ runId }) => runId === started.run_id);
  // A run that stopped before it reported its start never appears in the conversation.
  const isOver = started !== undefined && data !== undefined && data.status !== "running" && dataUpdatedAt > startedAt + 1_000;
  const localTurns = variables && !isError && !isOnServer && !isOver ? [localTurn(variables.query, started?.run_id ?? "", started?.thread_id ?? id)] : [];
  const turns = [...serverTurns, ...localTurns];
  const send = (query: string, expected: string, onRefused: () => void) => {
    setStartedAt(Infinity);
    ask.mutate({ query, agent: agent.name, ...(expected && { expected }) }, {
      onSuccess: () => {
        setStartedAt(Date.now());
        setStarted(true);
        onBegin();
      },
      onError: onRefused,
    });
  };
  return {
    turns, send, isSending: isPending, refusal: ask.error, conversation: data, error, refetch, isMissing: !isNew && isStatus(error, 404),
    isLoading: isStarted && !data && !error && turns.length === 0,
  };
}

const kana = /[぀-ヿ]/;
const han = /\p{Script=Han}/u;

function languageOf(text: string): string {
  if (kana.test(text)) return "ja";
  return han.test(text) ? "zh" : "en";
}

/** Return up to four example questions from the agent's schema, in this language if there are any. */
function examplesOf({ input_schema: { properties } }: Agent, language: string): string[] {
  const query = isObject(properties) ? properties.query : undefined;
  const examples = isObject(query) && Array.isArray(query.examples) ? query.examples.filter((one) => typeof one === "string") : [];
  const translated = examples.filter((one) => languageOf(one) === language);
  return (translated.length > 0 ? translated : examples).slice(0, 4);
}

/** An optional input for the right answer; feedback based on it is a fact, not an opinion. */
function KnownAnswer({ text, onText }: { text: string; onText: (text: string) => void }) {
  const strings = useLearningStrings();
  const id = useId();
  return (
    <details className="compact known-answer" data-testid="known-answer">
      <summary className="quiet">{strings.knownAnswer}</summary>
      <label htmlFor={id} className="quiet">{strings.knownAnswerHint}</label>
      <Input id={id} value={text} onChange={(event) => onText(event.target.value)} autoComplete="off" data-testid="expected" />
    </details>
  );
}

/** Return whether a turn is being answered; until it ends, no other question can be asked. */
const isAnswering = (turn: Turn | undefined) => turn?.phase === "answering" && turn.error === null;

/** Scroll a new question to the top, so that its answer grows below it and nothing else moves. */
function useScrollToNewest(turns: Turn[]) {
  const column = useRef<HTMLElement>(null);
  const count = turns.length;
  const before = useRef(0);
  useEffect(() => {
    if (count > before.current && count > 1) {
      Array.from(column.current?.querySelectorAll(".turn") ?? []).at(-1)?.scrollIntoView({ block: "start", behavior: "instant" });
    }
    before.current = count;
  }, [count]);
  return column;
}

function Introduction({ agent, onAsk }: { agent: Agent; onAsk: (query: string) => void }) {
  const strings = useLearningStrings();
  const examples = examplesOf(agent, strings.language);
  return (
    <div className="chat-introduction" data-testid="begin">
      <h2>{visible(agent.title || agent.name)}</h2>
      {agent.description && <p>{visible(agent.description)}</p>}
      <p className="quiet">{strings.learningHint}</p>
      {examples.length > 0 && (
        <ul className="examples" aria-label={strings.examples}>
          {examples.map((one) => <li key={one}><Button block onClick={() => onAsk(one)} data-testid="example">{visible(one)}</Button></li>)}
        </ul>
      )}
    </div>
  );
}

/** The error that stopped the newest run; the conversation can still continue. */
function RunError({ conversation }: { conversation: Conversation | undefined }) {
  const strings = useLearningStrings();
  const { status, error, turns = [] } = conversation ?? {};
  if (status !== "error" || !error || turns.at(-1)?.error) return null;
  return <Alert type="error" showIcon title={strings.runFailed} description={<FailureReason why={error} />} data-testid="talk-error" />;
}

const openProposal = () => document.querySelector<HTMLElement>(".insight article[data-status=pending]");

/** One conversation with a learning agent: questions, answers and proposals. */
export function LearningConversation(props: ConversationProps) {
  const { id, agent, isNew, playbook, draftKey } = props;
  const strings = useLearningStrings();
  const state = useConversationTurns(props);
  const { turns, conversation } = state;
  const newest = turns.at(-1);
  const column = useScrollToNewest(turns);
  const { stream, interruption } = useStream(newest?.threadId ?? id, () => conversation !== undefined);
  useRefreshConversation(id, stream);
  const [text, type] = useMessageDraft(`learning.${draftKey}`);
  const [expected, expect] = useState("");
  const cancel = useRunAction("cancel");
  const focusQuestion = useCallback(() => document.querySelector<HTMLElement>(".chat-composer textarea")?.focus({ preventScroll: true }), []);
  // On a phone, the focus would open the keyboard over the decision.
  const onAllDecided = () => window.matchMedia("(pointer: fine)").matches && focusQuestion();
  const focusProposal = () => openProposal()?.focus();
  useKeys(strings.questions, [
    { key: "m", label: strings.goToQuestion, run: focusQuestion },
    { key: "q", label: strings.goToNextProposal, run: focusProposal },
  ]);
  const send = (query: string) => {
    type("");
    expect("");
    // Restore the text if the server refuses the question.
    state.send(query, expected.trim(), () => {
      type(query);
      expect(expected);
    });
  };
  const images = useImages(false);
  if (state.isMissing && turns.length === 0) return <p data-testid="no-question">{strings.itemNotFound}</p>;
  const isBusy = state.isSending || isAnswering(newest);
  const judgedTurns = new Set(turns.flatMap(({ parent }) => parent ?? []));
  return (
    <>
      <section ref={column} className="chat-messages turns" tabIndex={-1} aria-label={strings.questions} aria-busy={isBusy} data-testid="turns" data-status={conversation?.status}>
        {state.isLoading && <Loading />}
        {isNew && turns.length === 0 && <Introduction agent={agent} onAsk={send} />}
        {turns.map((turn) => (
          <TurnView
            key={turn.runId || "new"} id={id} turn={turn} stream={turn === newest ? stream : undefined} isJudged={judgedTurns.has(turn.runId)}
            playbook={playbook} onAllDecided={onAllDecided}
          />
        ))}
        {turns.length === 0 && conversation?.status === "running" && <WorkingSpinner label={strings.phaseLabels.answering} />}
        <RunError conversation={conversation} />
        {!(conversation && isStatus(state.error, 0)) && !state.isMissing && <Problem error={state.error} retry={() => void state.refetch()} />}
        {interruption === "held" && <p className="quiet" data-testid="stream-held">{strings.heldBack}</p>}
        {(interruption === "lost" || isStatus(state.error, 0)) && <p className="quiet" data-testid="stream-lost">{strings.streamLost}</p>}
      </section>
      <div className="chat-input-bar">
        <Problem error={state.refusal} />
        <Problem error={cancel.error} />
        <Composer
          text={text} onText={type} phase={isBusy ? "working" : "ready"} hasOpenQuestion={false} isStopping={cancel.isPending} selection={images} placeholder={strings.questionPlaceholder}
          onSend={send} onStop={() => newest && cancel.mutate({ thread: newest.threadId })} onLeave={focusProposal}
        />
        <KnownAnswer text={expected} onText={expect} />
      </div>
    </>
  );
}
