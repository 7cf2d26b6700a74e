import { useMutation } from "@tanstack/react-query";
import { Button, Alert, Flex } from "antd";
import { useLayoutEffect, useRef, useMemo, useState } from "react";
import { useRunAction } from "../api/threads";
import type { Agent } from "../api/types";
import { CardTextsContext, WorkflowContext, type CardTexts, type Companion, Bubbles } from "./bubbles";
import { useKeys, type Shortcut } from "../base/keys";
import { visible } from "../base/visible";
import type { ConversationProps } from "../request/applications";
import { useChatStrings } from "../strings/chat";
import { ConfirmStop } from "../pauses/confirm-stop";
import { LiveAnnouncer } from "../thread/live-announcer";
import type { Item } from "../thread/stream";
import { isStuck, RunControls } from "../thread/run-controls";
import { StuckAlert } from "../thread/stuck-alert";
import { ActivityIndicator } from "../thread/activity-indicator";
import { useFollow } from "../thread/use-follow";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { Composer, useImages, useMessageDraft } from "./composer";
import { itemsOf, type ChatItem, requestsOf } from "./message-parts";
import { Question } from "./question";
import type { Conversation } from "./use-conversation";

/** Tell the style sheets how high the bar at the foot of a chat is, so that what sticks above it stays in sight. */
function reportHeight(bar: HTMLElement | null): (() => void) | undefined {
  const area = bar?.parentElement;
  if (!bar || !area) return undefined;
  const observer = new ResizeObserver(() => area.style.setProperty("--chat-bar", `${bar.offsetHeight}px`));
  observer.observe(bar);
  return () => observer.disconnect();
}

/** Keep the scroll position when messages are added above. */
function useScrollAnchor(firstId: string | undefined) {
  const anchor = useRef<{ firstId: string | undefined; fromEnd: number }>(undefined);
  useLayoutEffect(() => {
    if (!anchor.current || anchor.current.firstId === firstId) return;
    window.scrollTo({ top: document.documentElement.scrollHeight - anchor.current.fromEnd, behavior: "instant" });
    anchor.current = undefined;
  });
  return () => {
    anchor.current = { firstId, fromEnd: document.documentElement.scrollHeight - window.scrollY };
  };
}

interface EarlierMessagesProps {
  /** The id of the first loaded message. */
  first: string | undefined;
  show: Conversation["showEarlier"];
}

/** The button that loads earlier messages. */
function EarlierMessages({ first, show }: EarlierMessagesProps) {
  const strings = useChatStrings();
  const saveAnchor = useScrollAnchor(first);
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      await show?.(saveAnchor);
    },
  });
  if (!show) return null;
  return (
    <div className="earlier-messages">
      <Problem error={error} retry={() => mutate()} />
      <Button loading={isPending} onClick={() => mutate()} data-testid="show-earlier">{strings.earlierMessages}</Button>
    </div>
  );
}

const isItem = (item: ChatItem): item is Item => item.kind !== "thought" && item.kind !== "workflow";

/** Return the items of the newest agent message, to describe the current activity. */
function useNewestItems({ messages }: Conversation): Item[] {
  const last = messages.at(-1);
  return useMemo(() => (last?.role === "assistant" ? itemsOf(last).filter(isItem) : []), [last]);
}

/** The status below the newest message: activity, errors and the actions after them. */
function ChatFooter({ conversation, onWithdraw }: { conversation: Conversation; onWithdraw: () => void }) {
  const strings = useChatStrings();
  const newest = useNewestItems(conversation);
  const { thread, phase, isDisconnected, unsentError, sendAgain } = conversation;
  return (
    <div className="chat-footer">
      {unsentError && (
        <Problem error={unsentError} title={strings.messageNotSent}>{undefined}</Problem>
      )}
      {unsentError && (
        <Flex gap="small" wrap>
          <Button type="primary" onClick={sendAgain} data-testid="send-again">{strings.sendAgain}</Button>
          <Button onClick={onWithdraw} data-testid="withdraw-message">{strings.editMessage}</Button>
        </Flex>
      )}
      {isDisconnected && <Alert type="warning" showIcon title={strings.connectionLost} data-testid="stream-lost" />}
      {phase === "working" && !isDisconnected && <ActivityIndicator items={newest} />}
      {phase === "ready" && thread?.status === "idle" && <p className="quiet" data-testid="stopped">{strings.stopped}</p>}
      {thread && isStuck(thread) && phase !== "working" && (
        <>
          <StuckAlert thread={thread} isErrorShown={false} />
          {thread.status === "error" && <p className="quiet">{strings.chatContinues}</p>}
          <RunControls thread={thread} />
        </>
      )}
    </div>
  );
}

const none: CardTexts = new Map();
const showNothing = () => null;

interface ConversationViewProps extends ConversationProps {
  conversation: Conversation;
  /** What an application adds to the conversation. */
  companion?: Companion;
}

/** Focus the message that is being written. */
export const focusMessage = () => document.querySelector<HTMLElement>(".chat-composer textarea")?.focus();

/** Return open requests that no message contains (yet), so that they can always be answered. */
function requestsOutsideMessages({ messages, thread }: Conversation): string[] {
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
export function ConversationView({ id, agent, draftKey, onStart, conversation, companion }: ConversationViewProps) {
  const strings = useChatStrings();
  const messageList = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const { messages, phase, openRequests, thread } = conversation;
  const [text, setText] = useMessageDraft(draftKey);
  const images = useImages(agent.images);
  const newest = useNewestItems(conversation);
  const unplacedRequests = requestsOutsideMessages(conversation);
  const hasOpenQuestion = openRequests.length > 0 || unplacedRequests.length > 0;
  const { stop, isConfirming, leave, isStopping, error } = useStop(id, hasOpenQuestion);
  const { toEnd } = useFollow(messageList, end, messages.length);

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
    { key: "m", label: strings.goToMessage, run: focusMessage },
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
        <CardTextsContext value={companion?.cardTexts ?? none}>
          <WorkflowContext value={companion?.showWorkflow ?? showNothing}>
            <Bubbles
              messages={messages} agent={visible(agent.title || agent.name)} isUnsent={conversation.unsentError !== undefined} asides={companion?.asides ?? []}
              onDecided={focusMessage}
            />
          </WorkflowContext>
        </CardTextsContext>
        {unplacedRequests.map((request) => <Question key={request} id={request} onDecided={focusMessage} />)}
        <ChatFooter conversation={conversation} onWithdraw={withdraw} />
      </section>
      <LiveAnnouncer items={newest} />
      <div className="chat-input-bar" ref={reportHeight}>
        <Problem error={error} />
        {companion?.bar}
        {isConfirming && thread
          ? <ConfirmStop thread={id} how="cancel" onBack={leave} onDone={leave} />
          : (
            <Composer
              text={text} onText={setText} phase={phase} hasOpenQuestion={hasOpenQuestion} isStopping={isStopping} selection={images} uploadPercent={conversation.uploadPercent}
              takesImages={agent.images} focusMessage={focusMessage} onLeave={leaveMessage}
              onSend={send} onStop={() => (conversation.uploadPercent === undefined ? stop() : conversation.cancelUpload(strings.stopped))}
            />
          )}
      </div>
      <div ref={end} />
    </>
  );
}
