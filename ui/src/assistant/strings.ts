import { assistant } from "../strings/en/assistant";
import { createSectionStrings } from "../strings/section-strings";

/** The texts of an assistant's chat: the shared ones and its own. */
export const useAssistantWords = createSectionStrings("assistant", assistant);

/** Return the text for a server's name, or the name itself if the page has none. */
export const named = (names: Record<string, string>, name: string) => names[name] ?? name;
