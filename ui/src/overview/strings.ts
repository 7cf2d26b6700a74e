import { overview } from "../strings/en/overview";
import { createSectionStrings } from "../strings/section-strings";

/** Return the strings of the overview and those of every page. */
export const useOverviewStrings = createSectionStrings("overview", overview);
