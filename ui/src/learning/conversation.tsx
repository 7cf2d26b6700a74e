import { Alert, Button } from "antd";
import { useCallback, useEffect, useRef, useState } from "react";
import { isStatus } from "../api/call";
import { useRunAction } from "../api/threads";
import type { Agent } from "../api/types";
import { Composer } from "../chat/composer";
import { useMessageDraft } from "../chat/message-draft";
import { FailureReason } from "../thread/failure-reason";
import { useStream } from "../thread/use-stream";
import { useKeys } from "../base/keys";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import { useRefreshConversation } from "./api";
import { WorkingSpinner } from "./working-spinner";
import { examplesOf } from "./examples";
import { useImages } from "../chat/use-images";
import { KnownAnswer } from "./known-answer";
import { TurnView } from "./turn";
import type { Conversation, Turn } from "./types";
import { useConversationTurns, type ConversationProps } from "./use-conversation-turns";
import { useLearningStrings } from "../strings/learning";

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
