import { assistant } from "../strings/en/assistant";
import { createSectionStrings } from "../strings/section-strings";

/** Return the strings of an assistant's chat and those of every page. */
export const useAssistantStrings = createSectionStrings("assistant", assistant);

/** Return the text for a server's name, or the name itself if the page has none. */
export const labelOf = (names: Record<string, string>, name: string) => names[name] ?? name;
