import { chat } from "../strings/en/chat";
import { createSectionStrings } from "../strings/section-strings";

/** Return the strings of the chat and those of every page. */
export const useChatStrings = createSectionStrings("chat", chat);
