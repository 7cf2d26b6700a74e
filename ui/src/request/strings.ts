import type { Strings } from "../strings";
import { detail, type Detail } from "../strings/en/detail";
import { createSectionStrings } from "../strings/section-strings";

export type RequestStrings = Strings & Detail;

/** Return the strings of a request's page and those of every page. */
export const useRequestStrings = createSectionStrings("detail", detail);
