import { Alert, Button } from "antd";
import { useCallback, useEffect, useRef, useState } from "react";
import { isStatus } from "../api/call";
import { useRunAction } from "../api/threads";
import type { Agent } from "../api/types";
import { Composer } from "../chat/composer";
import { useMessageDraft } from "../chat/message-draft";
import { FailureReason } from "../operations/failure-reason";
import { useStream } from "../thread/use-stream";
import { useKeys } from "../widgets/keys";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { useRefresh } from "./api";
import { WorkingSpinner } from "./working-spinner";
import { examplesOf } from "./examples";
import { useImages } from "../chat/use-images";
import { KnownAnswer } from "./known-answer";
import { TurnView } from "./turn";
import type { Conversation, Turn } from "./types";
import { useConversationTurns, type ConversationProps } from "./use-conversation-turns";
import { useLearningWords } from "./words";

/** Whether a turn takes all attention: until it is answered nothing else can be asked. */
const isAnswering = (turn: Turn | undefined) => turn?.phase === "answering" && turn.error === null;

/** Once a question is asked it stands at the top, and its answer grows below it without moving anything. */
function useShown(turns: Turn[]) {
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

function Begin({ agent, onAsk }: { agent: Agent; onAsk: (query: string) => void }) {
  const words = useLearningWords();
  const examples = examplesOf(agent, words.language);
  return (
    <div className="chat-introduction" data-testid="begin">
      <h2>{visible(agent.title || agent.name)}</h2>
      {agent.description && <p>{visible(agent.description)}</p>}
      <p className="quiet">{words.learningHint}</p>
      {examples.length > 0 && (
        <ul className="examples" aria-label={words.examples}>
          {examples.map((one) => <li key={one}><Button block onClick={() => onAsk(one)} data-testid="example">{visible(one)}</Button></li>)}
        </ul>
      )}
    </div>
  );
}

/** What stopped the newest run; the conversation can go on all the same. */
function Stopped({ conversation }: { conversation: Conversation | undefined }) {
  const words = useLearningWords();
  const { status, error, turns = [] } = conversation ?? {};
  if (status !== "error" || !error || turns.at(-1)?.error) return null;
  return <Alert type="error" showIcon title={words.runFailed} description={<FailureReason why={error} />} data-testid="talk-error" />;
}

const openProposal = () => document.querySelector<HTMLElement>(".insight article[data-status=pending]");

/** One conversation with an agent that learns: questions, answers, and what shall be learned from them. */
export function Talk(props: ConversationProps) {
  const { id, agent, isNew, playbook, typedFor } = props;
  const words = useLearningWords();
  const talk = useConversationTurns(props);
  const { turns, conversation } = talk;
  const newest = turns.at(-1);
  const column = useShown(turns);
  const { stream, isDisconnected } = useStream(newest?.threadId ?? id, () => conversation !== undefined);
  useRefresh(id, stream);
  const [text, type] = useMessageDraft(`learning.${typedFor}`);
  const [expected, expect] = useState("");
  const cancel = useRunAction("cancel");
  const toQuestion = useCallback(() => document.querySelector<HTMLElement>(".chat-composer textarea")?.focus({ preventScroll: true }), []);
  // On a phone it would open the keyboard over what was just decided.
  const afterwards = () => window.matchMedia("(pointer: fine)").matches && toQuestion();
  const toProposal = () => openProposal()?.focus();
  useKeys(words.questions, [
    { key: "m", label: words.toQuestion, run: toQuestion },
    { key: "q", label: words.toProposal, run: toProposal },
  ]);
  const send = (query: string) => {
    type("");
    expect("");
    // What did not arrive is not lost.
    talk.send(query, expected.trim(), () => {
      type(query);
      expect(expected);
    });
  };
  const chosen = useImages(false);
  if (talk.isMissing && turns.length === 0) return <p data-testid="no-question">{words.noSuchQuestion}</p>;
  const isBusy = talk.isSending || isAnswering(newest);
  const judged = new Set(turns.flatMap(({ parent }) => parent ?? []));
  return (
    <>
      <section ref={column} className="chat-messages turns" tabIndex={-1} aria-label={words.questions} aria-busy={isBusy} data-testid="turns" data-status={conversation?.status}>
        {talk.isLoading && <Loading />}
        {isNew && turns.length === 0 && <Begin agent={agent} onAsk={send} />}
        {turns.map((turn) => (
          <TurnView
            key={turn.runId || "new"} id={id} turn={turn} stream={turn === newest ? stream : undefined} isJudged={judged.has(turn.runId)}
            playbook={playbook} afterwards={afterwards}
          />
        ))}
        {turns.length === 0 && conversation?.status === "running" && <WorkingSpinner words={words.blooming.answering} />}
        <Stopped conversation={conversation} />
        {!(conversation && isStatus(talk.error, 0)) && !talk.isMissing && <Problem error={talk.error} retry={() => void talk.refetch()} />}
        {(isDisconnected || isStatus(talk.error, 0)) && <p className="quiet" data-testid="stream-lost">{words.streamLost}</p>}
      </section>
      <div className="chat-input-bar">
        <Problem error={talk.refusal} />
        <Problem error={cancel.error} />
        <Composer
          text={text} onText={type} phase={isBusy ? "working" : "ready"} hasOpenQuestion={false} isStopping={cancel.isPending} chosen={chosen} placeholder={words.askSomething}
          onSend={send} onStop={() => newest && cancel.mutate({ thread: newest.threadId })} onLeave={toProposal}
        />
        <KnownAnswer text={expected} onText={expect} />
      </div>
    </>
  );
}
