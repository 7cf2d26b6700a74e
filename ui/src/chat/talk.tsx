import { useCallback, useRef, useState } from "react";
import { useSteer } from "../api/threads";
import type { Agent } from "../api/types";
import { ActionBar } from "../assistant/action-bar";
import { CardTextsContext, type CardTexts } from "../assistant/plan-card-texts";
import { useAssistant } from "../assistant/use-assistant";
import { Workflows } from "../assistant/workflow";
import { ConfirmStop } from "../operations/confirm-stop";
import { Announcer } from "../thread/announcer";
import { useFollow } from "../thread/use-follow";
import { useKeys, type Shortcut } from "../widgets/keys";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { Before } from "./before";
import { Bubbles } from "./bubbles";
import { Composer } from "./composer";
import { Foot, useNewest } from "./foot";
import { requestsOf } from "./parts";
import { Question } from "./question";
import { useImages } from "./use-images";
import { useTyped } from "./typed";
import { useConversation } from "./use-conversation";
import { useChatWords } from "./words";

const none: CardTexts = new Map();

interface TalkProps {
  id: string;
  agent: Agent;
  isNew: boolean;
  /** The chat that what is typed belongs to: one without an address has none of its own. */
  typedFor: string;
  onBegin: () => void;
}

/** Open questions that stand in no message (yet): an answerable question must never be out of reach. */
function unshown({ messages, thread }: ReturnType<typeof useConversation>): string[] {
  const shown = new Set(messages.flatMap(requestsOf));
  return (thread?.pending ?? []).map(({ id }) => id).filter((id) => !shown.has(id));
}

function useStop(id: string, asks: boolean) {
  const cancel = useSteer("cancel");
  const [asking, setAsking] = useState(false);
  const stop = () => {
    // A question that somebody may be answering is not withdrawn by one slip.
    if (asks) setAsking(true);
    else if (!cancel.isPending) cancel.mutate({ thread: id });
  };
  return { stop, asking, leave: () => setAsking(false), isStopping: cancel.isPending, error: cancel.error };
}

/** Before the first message: whom one writes to, and what for. */
function Begin({ agent }: { agent: Agent }) {
  const { howToBegin } = useChatWords();
  const name = visible(agent.title || agent.name);
  return (
    <div className="chat-begin">
      <h2>{name}</h2>
      {agent.description && <p>{visible(agent.description)}</p>}
      <p className="quiet">{howToBegin(name)}</p>
    </div>
  );
}

/** One conversation with one agent. */
export function Talk({ id, agent, isNew, typedFor, onBegin }: TalkProps) {
  const words = useChatWords();
  const column = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const talk = useConversation(id, agent.name, isNew);
  const { messages, phase, open, thread } = talk;
  const [text, type] = useTyped(typedFor);
  const chosen = useImages(agent.images);
  const newest = useNewest(talk);
  const extra = unshown(talk);
  const asks = open.length > 0 || extra.length > 0;
  const { stop, asking, leave, isStopping, error } = useStop(id, asks);
  const { toEnd } = useFollow(column, end, messages.length);

  const toMessage = useCallback(() => column.current?.parentElement?.querySelector<HTMLElement>(".chat-composer textarea")?.focus(), []);
  const assistant = useAssistant(talk, id, agent, onBegin, toMessage);
  const toQuestion = () => column.current?.querySelector<HTMLElement>("article[data-status=pending]")?.focus();
  const send = (message: string) => {
    type("");
    talk.send(message, chosen.images);
    chosen.replace([]);
    onBegin();
    toEnd();
  };
  const takeBack = () => {
    const unsent = talk.takeBack();
    type(unsent.text);
    chosen.replace(unsent.images);
  };
  const leaveMessage = () => (asks ? toQuestion() : column.current?.focus());
  const keys: Shortcut[] = [
    { key: "m", label: words.toMessage, run: toMessage },
    { key: "q", label: words.toQuestion, run: () => toQuestion() },
    { key: "G", label: words.toNewest, run: toEnd },
  ];
  useKeys(words.chats, keys);
  if (talk.isMissing && messages.length === 0) return <p data-testid="no-chat">{words.noSuchChat}</p>;
  return (
    <>
      <section ref={column} className="chat-messages" tabIndex={-1} aria-label={words.messages} aria-busy={phase === "working"} data-testid="chat-messages">
        {phase === "loading" && <Loading />}
        {phase !== "loading" && messages.length === 0 && <Begin agent={agent} />}
        <Before first={messages[0]?.id} show={talk.showBefore} />
        <CardTextsContext value={assistant?.cardTexts ?? none}>
          <Workflows value={assistant}>
            <Bubbles messages={messages} agent={visible(agent.title || agent.name)} unsent={talk.unsent !== undefined} asides={assistant?.asides ?? []} onDecided={toMessage} />
          </Workflows>
        </CardTextsContext>
        {extra.map((request) => <Question key={request} id={request} onDecided={toMessage} />)}
        <Foot conversation={talk} onTakeBack={takeBack} />
      </section>
      <Announcer items={newest} />
      <div className="chat-bar">
        <Problem error={error} />
        {assistant && <ActionBar assistant={assistant} id={id} />}
        {asking && thread
          ? <ConfirmStop thread={id} how="cancel" onBack={leave} onDone={leave} />
          : (
            <Composer
              text={text} onText={type} phase={phase} asks={asks} isStopping={isStopping} chosen={chosen} sent={talk.sent}
              takesImages={agent.images} toMessage={toMessage} onLeave={leaveMessage}
              onSend={send} onStop={() => (talk.sent === undefined ? stop() : talk.stopSending(words.stopped))}
            />
          )}
      </div>
      <div ref={end} />
    </>
  );
}
