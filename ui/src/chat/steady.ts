import { useState } from "react";
import type { ChatMessage } from "./parts";

type Part = ChatMessage["parts"][number];

const textOf = (part: Part) => ("text" in part && typeof part.text === "string" ? part.text : "");

/** How much of a message there is. */
const extent = ({ parts }: ChatMessage) => parts.reduce((sum, part) => sum + 1 + textOf(part).length, 0);

const isOver = (part: Part) => "state" in part && part.state === "done";

/** Whether all of a message is at the beginning of another: it is not, once the words of a worker that died are said anew. */
const begins = (message: ChatMessage, other: ChatMessage) => message.parts.every((part, index) => {
  const same = other.parts[index];
  if (same?.type !== part.type) return false;
  return isOver(part) ? textOf(same) === textOf(part) : textOf(same).startsWith(textOf(part));
});

/**
 * A stream that is taken up again begins its message from nothing: what was shown of it stays until it has caught up.
 *
 * Without this a reload of the stream would blink, and whoever fills in a form in the message would lose their place.
 */
export function steady(shown: ChatMessage | undefined, now: ChatMessage | undefined): ChatMessage | undefined {
  const isBehind = shown && now && shown.id === now.id && extent(now) < extent(shown);
  return isBehind && begins(now, shown) ? shown : now;
}

export function useSteady(messages: ChatMessage[], streaming: boolean): ChatMessage[] {
  const now = messages.at(-1);
  const [shown, setShown] = useState(now);
  const kept = streaming ? steady(shown, now) : now;
  if (kept !== shown) setShown(kept);
  return kept && kept !== now ? [...messages.slice(0, -1), kept] : messages;
}
