import { assistant } from "../strings/en/assistant";
import { togetherWith } from "../strings/together";

/** The texts of an assistant's chat: the shared ones and its own. */
export const useAssistantWords = togetherWith("assistant", assistant);

/** Return the text for a server's name, or the name itself if the page has none. */
export const named = (names: Record<string, string>, name: string) => names[name] ?? name;
