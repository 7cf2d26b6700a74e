import { useStrings, type Strings } from "../strings";
import { chat, type Chat } from "../strings/en/chat";

export type ChatWords = Strings & Chat;

const together = new WeakMap<Strings, ChatWords>();

/** All words of the chat: those of every page, and its own. */
export function useChatWords(): ChatWords {
  const strings = useStrings();
  const known = together.get(strings);
  if (known) return known;
  const words = { ...strings, ...(strings.chat ?? chat) };
  together.set(strings, words);
  return words;
}
