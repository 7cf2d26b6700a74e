import type { Strings } from "./index";
import { detail, type Detail } from "./en/detail";
import { createSectionStrings } from "./section-strings";

export type RequestStrings = Strings & Detail;

/** Return the strings of a request's page and those of every page. */
export const useRequestStrings = createSectionStrings("detail", detail);
