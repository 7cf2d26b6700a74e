import { chat } from "../strings/en/chat";
import { togetherWith } from "../strings/together";

/** All words of the chat: those of every page, and its own. */
export const useChatWords = togetherWith("chat", chat);
