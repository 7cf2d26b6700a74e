import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/call";
import { totalsPath } from "../api/lists";
import type { Totals } from "../api/types";
import { useStrings } from "../strings";
import { membersOf } from "./flood";
import { formatCount } from "./stake";
import type { InboxState } from "./use-inbox";

/** Select every request of the list that can be decided in bulk; the pages that are missing are loaded first. */
export function useSelectAll({ filters, list, view, selection, refusalOf }: InboxState) {
  const { language } = useStrings();
  const totals = useQuery({
    queryKey: ["totals", filters], queryFn: () => call<Totals>("GET", totalsPath(filters)), enabled: list.hasNextPage && selection.ids.size > 0,
  }).data;
  const [isLoading, setLoading] = useState(false);
  const start = async () => {
    setLoading(true);
    let loaded: Pick<typeof list, "data" | "hasNextPage" | "isError"> = list;
    // One page after the other: each has the cursor of the next.
    while (loaded.hasNextPage && !loaded.isError) loaded = await list.fetchNextPage(); // eslint-disable-line no-await-in-loop
    const all = loaded.data?.pages.flatMap((page) => page.items) ?? [];
    selection.set(all.filter((request) => refusalOf(request) === null).map(({ id }) => id));
    setLoading(false);
  };
  const members = view.rows.filter(({ isOutdated }) => !isOutdated).flatMap(membersOf);
  const eligible = members.filter((request) => refusalOf(request) === null);
  return {
    isLoading, start, loaded: members.length,
    /** The number of requests; of pages that are not loaded the server counts those that cannot be selected too. */
    count: list.hasNextPage ? totals && `${formatCount(totals.count, language)}${totals.more ? "+" : ""}` : formatCount(eligible.length, language),
    isComplete: !list.hasNextPage && eligible.every(({ id }) => selection.ids.has(id)),
  };
}
