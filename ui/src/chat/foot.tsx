import { Alert, Button, Flex } from "antd";
import { useMemo } from "react";
import { isStuck, Steer } from "../thread/steer";
import { Stuck, Working } from "../thread/foot";
import type { Item } from "../thread/stream";
import { Problem } from "../widgets/problem";
import { itemsOf, type ChatItem } from "./parts";
import type { Conversation } from "./use-conversation";
import { useChatWords } from "./words";

const isItem = (item: ChatItem): item is Item => item.kind !== "thought" && item.kind !== "workflow";

/** What the newest message is made of, for who says what is being done. */
export function useNewest({ messages }: Conversation): Item[] {
  const last = messages.at(-1);
  return useMemo(() => (last?.role === "assistant" ? itemsOf(last).filter(isItem) : []), [last]);
}

/** Below the newest message: that something is being done, or what went wrong and the way on. */
export function Foot({ conversation, onTakeBack }: { conversation: Conversation; onTakeBack: () => void }) {
  const words = useChatWords();
  const newest = useNewest(conversation);
  const { thread, phase, lost, unsent, sendAgain } = conversation;
  return (
    <div className="chat-foot">
      {unsent && (
        <Problem error={unsent} title={words.notSent}>{undefined}</Problem>
      )}
      {unsent && (
        <Flex gap="small" wrap>
          <Button type="primary" onClick={sendAgain} data-testid="send-again">{words.sendAgain}</Button>
          <Button onClick={onTakeBack} data-testid="take-back">{words.takeBack}</Button>
        </Flex>
      )}
      {lost && <Alert type="warning" showIcon title={words.connectionLost} data-testid="stream-lost" />}
      {phase === "working" && !lost && <Working items={newest} />}
      {phase === "ready" && thread?.status === "idle" && <p className="quiet" data-testid="stopped">{words.stopped}</p>}
      {thread && isStuck(thread) && phase !== "working" && (
        <>
          <Stuck thread={thread} toldError={false} />
          {thread.status === "error" && <p className="quiet">{words.canWriteOn}</p>}
          <Steer thread={thread} />
        </>
      )}
    </div>
  );
}
