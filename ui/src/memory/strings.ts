import { memory } from "../strings/en/memory";
import { createSectionStrings } from "../strings/section-strings";

/** All words of the page of memories: those of every page, and its own. */
export const useMemoryWords = createSectionStrings("memory", memory);
