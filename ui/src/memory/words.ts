import { memory } from "../strings/en/memory";
import { togetherWith } from "../strings/together";

/** All words of the page of memories: those of every page, and its own. */
export const useMemoryWords = togetherWith("memory", memory);
