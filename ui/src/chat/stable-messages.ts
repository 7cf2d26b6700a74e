import { useState } from "react";
import type { ChatMessage } from "./message-parts";

type Part = ChatMessage["parts"][number];

const textOf = (part: Part) => ("text" in part && typeof part.text === "string" ? part.text : "");

/** Return the size of a message, to compare two versions of it. */
const messageLength = ({ parts }: ChatMessage) => parts.reduce((sum, part) => sum + 1 + textOf(part).length, 0);

const isComplete = (part: Part) => "state" in part && part.state === "done";

/** Return whether a message is the beginning of another version of it. */
const isPrefix = (message: ChatMessage, other: ChatMessage) => message.parts.every((part, index) => {
  const same = other.parts[index];
  if (same?.type !== part.type) return false;
  return isComplete(part) ? textOf(same) === textOf(part) : textOf(same).startsWith(textOf(part));
});

/**
 * Keep showing the longer version of a message while a resumed stream catches up.
 *
 * Otherwise a reconnect would flicker and a form in the message would lose its focus.
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
