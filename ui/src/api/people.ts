import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { visible } from "../base/visible";
import { call } from "./call";
import type { People } from "./types";

const toOptions = (names: readonly string[]) => names.map((value) => ({ value, label: visible(value) }));
const toLists = ({ people, groups }: People) => ({ people: toOptions(people), groups: toOptions(groups) });

/**
 * The people and groups whose names contain a text, as options; only those on requests that the person can see.
 *
 * Equal options stay the same objects, so that an open list keeps its active option.
 */
export const usePeople = (part: string) => useQuery({
  queryKey: ["people", part], placeholderData: keepPreviousData, select: toLists,
  queryFn: () => call<People>("GET", `/v1/people?q=${encodeURIComponent(part)}`),
});
