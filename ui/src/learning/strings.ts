import { learning } from "../strings/en/learning";
import { createSectionStrings } from "../strings/section-strings";

/** Return the strings of the learning pages and those of every page. */
export const useLearningStrings = createSectionStrings("learning", learning);

/** Return the label of a server's name, or the name itself if the page has no label for it. */
export const labelOf = (names: Record<string, string>, name: string) => names[name] ?? name;
