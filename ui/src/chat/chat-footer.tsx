import { Alert, Button, Flex } from "antd";
import { useMemo } from "react";
import { isStuck, RunControls } from "../thread/run-controls";
import { StuckAlert, ActivityIndicator } from "../thread/thread-footer";
import type { Item } from "../thread/stream";
import { Problem } from "../widgets/problem";
import { itemsOf, type ChatItem } from "./message-parts";
import type { Conversation } from "./use-conversation";
import { useChatStrings } from "../strings/chat";

const isItem = (item: ChatItem): item is Item => item.kind !== "thought" && item.kind !== "workflow";

/** Return the items of the newest agent message, to describe the current activity. */
export function useNewestItems({ messages }: Conversation): Item[] {
  const last = messages.at(-1);
  return useMemo(() => (last?.role === "assistant" ? itemsOf(last).filter(isItem) : []), [last]);
}

/** The status below the newest message: activity, errors and the actions after them. */
export function ChatFooter({ conversation, onWithdraw }: { conversation: Conversation; onWithdraw: () => void }) {
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
