import { useState } from "react";
import type { ChatMessage } from "./parts";

/** How much of a message there is. */
const extent = ({ parts }: ChatMessage) =>
  parts.reduce((sum, part) => sum + 1 + ("text" in part && typeof part.text === "string" ? part.text.length : 0), 0);

/**
 * A stream that is taken up again begins its message from nothing: what was shown of it stays until it has caught up.
 *
 * Without this a reload of the stream would blink, and whoever fills in a form in the message would lose their place.
 */
export function steady(shown: ChatMessage | undefined, now: ChatMessage | undefined): ChatMessage | undefined {
  return shown && now && shown.id === now.id && extent(now) < extent(shown) ? shown : now;
}

export function useSteady(messages: ChatMessage[], streaming: boolean): ChatMessage[] {
  const now = messages.at(-1);
  const [shown, setShown] = useState(now);
  const kept = streaming ? steady(shown, now) : now;
  if (kept !== shown) setShown(kept);
  return kept && kept !== now ? [...messages.slice(0, -1), kept] : messages;
}
