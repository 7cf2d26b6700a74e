import { chat } from "../strings/en/chat";
import { createSectionStrings } from "../strings/section-strings";

/** All words of the chat: those of every page, and its own. */
export const useChatStrings = createSectionStrings("chat", chat);
