import { useState } from "react";
import type { ChatMessage } from "./message-parts";

type Part = ChatMessage["parts"][number];

const textOf = (part: Part) => ("text" in part && typeof part.text === "string" ? part.text : "");

/** How much of a message there is. */
const messageLength = ({ parts }: ChatMessage) => parts.reduce((sum, part) => sum + 1 + textOf(part).length, 0);

const isComplete = (part: Part) => "state" in part && part.state === "done";

/** Whether all of a message is at the beginning of another: it is not, once the words of a worker that died are said anew. */
const isPrefix = (message: ChatMessage, other: ChatMessage) => message.parts.every((part, index) => {
  const same = other.parts[index];
  if (same?.type !== part.type) return false;
  return isComplete(part) ? textOf(same) === textOf(part) : textOf(same).startsWith(textOf(part));
});

/**
 * A stream that is taken up again begins its message from nothing: what was shown of it stays until it has caught up.
 *
 * Without this a reload of the stream would blink, and whoever fills in a form in the message would lose their place.
 */
export function keepLonger(previous: ChatMessage | undefined, now: ChatMessage | undefined): ChatMessage | undefined {
  const isBehind = previous && now && previous.id === now.id && messageLength(now) < messageLength(previous);
  return isBehind && isPrefix(now, previous) ? previous : now;
}

export function useStableMessages(messages: ChatMessage[], streaming: boolean): ChatMessage[] {
  const now = messages.at(-1);
  const [previous, setPrevious] = useState(now);
  const stable = streaming ? keepLonger(previous, now) : now;
  if (stable !== previous) setPrevious(stable);
  return stable && stable !== now ? [...messages.slice(0, -1), stable] : messages;
}
