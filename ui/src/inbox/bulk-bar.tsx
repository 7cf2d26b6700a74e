import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useState, Suspense } from "react";
import { call } from "../api/call";
import { totalsPath } from "../api/lists";
import type { Totals } from "../api/types";
import { lazyWithRetry } from "../base/browser";
import { useStrings } from "../strings";
import type { BulkDecision } from "./bulk";
import { membersOf } from "./flood";
import { formatCount } from "./stake";
import type { InboxState } from "./use-inbox";

/** Select every request of the list that can be decided in bulk; the pages that are missing are loaded first. */
function useSelectAll({ filters, list, view, selection, refusalOf }: InboxState) {
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

const loadDialog = () => import("./bulk-dialog");
const BulkDialog = lazyWithRetry(loadDialog);

/** Select all of the list, above one page too. */
function SelectAll({ inbox }: { inbox: InboxState }) {
  const { bulk, language } = useStrings();
  const { isLoading, isComplete, loaded, count, start } = useSelectAll(inbox);
  if (isComplete) return null;
  const label = isLoading ? bulk.selectingAll(formatCount(loaded, language)) : bulk.selectAll(count ?? "");
  return <Button type="link" size="small" loading={isLoading} onClick={() => void start()} data-testid="select-all">{label}</Button>;
}

/** The toolbar for the selected requests. */
export function BulkBar({ inbox }: { inbox: InboxState }) {
  const strings = useStrings();
  const [verdict, setVerdict] = useState<BulkDecision>();
  const { selected, selection } = inbox;
  if (selected.length === 0 && !verdict) return null;
  const count = formatCount(selected.length, strings.language);
  return (
    <div className="inbox-bulk" role="toolbar" aria-label={strings.selected(count)} data-testid="bulk-bar">
      <output data-testid="bulk-count">{strings.selected(count)}</output>
      <SelectAll inbox={inbox} />
      <span className="inbox-bulk-ways">
        <Button type="primary" size="small" onClick={() => setVerdict("approve")} data-testid="bulk-approve">{strings.bulk.approve}</Button>
        <Button danger size="small" onClick={() => setVerdict("reject")} data-testid="bulk-reject">{strings.bulk.reject}</Button>
        <Button type="text" size="small" onClick={() => selection.set([])} aria-label={strings.clearSelection}>✕</Button>
      </span>
      {verdict && (
        <Suspense fallback={null}>
          <BulkDialog inbox={inbox} verdict={verdict} onClose={() => setVerdict(undefined)} />
        </Suspense>
      )}
    </div>
  );
}
