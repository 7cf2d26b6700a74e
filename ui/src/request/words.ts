import type { Strings } from "../strings";
import { detail, type Detail } from "../strings/en/detail";
import { togetherWith } from "../strings/together";

export type Words = Strings & Detail;

/** All words of a request's page: those of the list, and its own. */
export const useWords = togetherWith("detail", detail);
