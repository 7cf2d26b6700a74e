import { useCallback, useRef, useState } from "react";
import { useRunAction } from "../api/threads";
import type { Agent } from "../api/types";
import { ActionBar } from "../assistant/action-bar";
import { CardTextsContext, type CardTexts } from "../assistant/plan-card-texts";
import { useAssistant } from "../assistant/use-assistant";
import { Workflows } from "../assistant/workflow";
import { ConfirmStop } from "../pauses/confirm-stop";
import { LiveAnnouncer } from "../thread/live-announcer";
import { useFollow } from "../thread/use-follow";
import { useKeys, type Shortcut } from "../base/keys";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import { EarlierMessages } from "./earlier-messages";
import { Bubbles } from "./bubbles";
import { Composer } from "./composer";
import { ChatFooter, useNewestItems } from "./chat-footer";
import { requestsOf } from "./message-parts";
import { reportHeight } from "./bar-height";
import { Question } from "./question";
import { useImages } from "./use-images";
import { useMessageDraft } from "./message-draft";
import { useConversation } from "./use-conversation";
import { useChatStrings } from "../strings/chat";

const none: CardTexts = new Map();

interface ConversationViewProps {
  id: string;
  agent: Agent;
  isNew: boolean;
  /** The key of the unsent message; a chat without a URL has none of its own. */
  draftKey: string;
  onStart: () => void;
}

/** Return open requests that no message contains (yet), so that they can always be answered. */
function requestsOutsideMessages({ messages, thread }: ReturnType<typeof useConversation>): string[] {
  const placed = new Set(messages.flatMap(requestsOf));
  return (thread?.pending ?? []).map(({ id }) => id).filter((id) => !placed.has(id));
}

function useStop(id: string, asks: boolean) {
  const cancel = useRunAction("cancel");
  const [isConfirming, setConfirming] = useState(false);
  const stop = () => {
    // Ask for confirmation before cancelling a question that somebody may be answering.
    if (asks) setConfirming(true);
    else if (!cancel.isPending) cancel.mutate({ thread: id });
  };
  return { stop, isConfirming, leave: () => setConfirming(false), isStopping: cancel.isPending, error: cancel.error };
}

/** The introduction before the first message: the agent and its purpose. */
function ChatIntroduction({ agent }: { agent: Agent }) {
  const { chatIntroduction } = useChatStrings();
  const name = visible(agent.title || agent.name);
  return (
    <div className="chat-introduction">
      <h2>{name}</h2>
      {agent.description && <p>{visible(agent.description)}</p>}
      <p className="quiet">{chatIntroduction(name)}</p>
    </div>
  );
}

/** One conversation with one agent. */
export function ConversationView({ id, agent, isNew, draftKey, onStart }: ConversationViewProps) {
  const strings = useChatStrings();
  const messageList = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const conversation = useConversation(id, agent.name, isNew);
  const { messages, phase, openRequests, thread } = conversation;
  const [text, setText] = useMessageDraft(draftKey);
  const images = useImages(agent.images);
  const newest = useNewestItems(conversation);
  const unplacedRequests = requestsOutsideMessages(conversation);
  const hasOpenQuestion = openRequests.length > 0 || unplacedRequests.length > 0;
  const { stop, isConfirming, leave, isStopping, error } = useStop(id, hasOpenQuestion);
  const { toEnd } = useFollow(messageList, end, messages.length);

  const toMessage = useCallback(() => messageList.current?.parentElement?.querySelector<HTMLElement>(".chat-composer textarea")?.focus(), []);
  const assistant = useAssistant(conversation, id, agent, onStart, toMessage);
  const toQuestion = () => messageList.current?.querySelector<HTMLElement>("article[data-status=pending]")?.focus();
  const send = (message: string) => {
    setText("");
    conversation.send(message, images.images);
    images.replace([]);
    onStart();
    toEnd();
  };
  const withdraw = () => {
    const unsent = conversation.withdrawUnsent();
    setText(unsent.text);
    images.replace(unsent.images);
  };
  const leaveMessage = () => (hasOpenQuestion ? toQuestion() : messageList.current?.focus());
  const keys: Shortcut[] = [
    { key: "m", label: strings.goToMessage, run: toMessage },
    { key: "q", label: strings.goToQuestion, run: () => toQuestion() },
    { key: "G", label: strings.goToNewest, run: toEnd },
  ];
  useKeys(strings.chats, keys);
  if (conversation.isMissing && messages.length === 0) return <p data-testid="no-chat">{strings.chatNotFound}</p>;
  return (
    <>
      <section ref={messageList} className="chat-messages" tabIndex={-1} aria-label={strings.messages} aria-busy={phase === "working"} data-testid="chat-messages">
        {phase === "loading" && <Loading />}
        {phase !== "loading" && messages.length === 0 && <ChatIntroduction agent={agent} />}
        <EarlierMessages first={messages[0]?.id} show={conversation.showEarlier} />
        <CardTextsContext value={assistant?.cardTexts ?? none}>
          <Workflows value={assistant}>
            <Bubbles messages={messages} agent={visible(agent.title || agent.name)} isUnsent={conversation.unsentError !== undefined} asides={assistant?.asides ?? []} onDecided={toMessage} />
          </Workflows>
        </CardTextsContext>
        {unplacedRequests.map((request) => <Question key={request} id={request} onDecided={toMessage} />)}
        <ChatFooter conversation={conversation} onWithdraw={withdraw} />
      </section>
      <LiveAnnouncer items={newest} />
      <div className="chat-input-bar" ref={reportHeight}>
        <Problem error={error} />
        {assistant && <ActionBar assistant={assistant} id={id} />}
        {isConfirming && thread
          ? <ConfirmStop thread={id} how="cancel" onBack={leave} onDone={leave} />
          : (
            <Composer
              text={text} onText={setText} phase={phase} hasOpenQuestion={hasOpenQuestion} isStopping={isStopping} selection={images} uploadPercent={conversation.uploadPercent}
              takesImages={agent.images} focusMessage={toMessage} onLeave={leaveMessage}
              onSend={send} onStop={() => (conversation.uploadPercent === undefined ? stop() : conversation.cancelUpload(strings.stopped))}
            />
          )}
      </div>
      <div ref={end} />
    </>
  );
}
