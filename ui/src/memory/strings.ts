import { memory } from "../strings/en/memory";
import { createSectionStrings } from "../strings/section-strings";

/** Return the strings of the memory page and those of every page. */
export const useMemoryStrings = createSectionStrings("memory", memory);
