import { assistant } from "../strings/en/assistant";
import { togetherWith } from "../strings/together";

/** All words of an assistant's chat: those of every page, and its own. */
export const useAssistantWords = togetherWith("assistant", assistant);

/** What a server's name for something means to people; a name that this page does not know stays as it is. */
export const named = (names: Record<string, string>, name: string) => names[name] ?? name;
