import { learning } from "../strings/en/learning";
import { createSectionStrings } from "../strings/section-strings";

/** All words of learning: those of every page, and its own. */
export const useLearningWords = createSectionStrings("learning", learning);

/** What a server's name for something means to people; a name that this page does not know stays as it is. */
export const named = (names: Record<string, string>, name: string) => names[name] ?? name;
