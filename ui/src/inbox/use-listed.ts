import { useEffect, useMemo, useState } from "react";
import { horizonOf, isUrgentFirst, newerVersion, type Filters, type Pages } from "../api/lists";
import { useRequests } from "../api/request-list";
import { serverNow } from "../api/server-clock";
import type { Request } from "../api/types";
import { horizonAt, nextChange, type Horizon } from "../api/urgency";

/** How often the most urgent requests of a list with more pages are loaded: others may have become due. */
const reloadEvery = 60_000;
const maxWait = 2 ** 31 - 1;

function itemsOf(...lists: (Pages | undefined)[]): Request[] | undefined {
  if (!lists[0]) return undefined;
  const found = new Map<string, Request>();
  for (const request of lists.flatMap((list) => list?.pages.flatMap((page) => page.items) ?? [])) {
    found.set(request.id, newerVersion(found.get(request.id), request));
  }
  return [...found.values()];
}

/** Return the horizon of now; it changes when a listed request becomes due soon or overdue. */
function usePresent(filters: Filters, pages: Pages | undefined, listed: readonly Request[] | undefined): Horizon | null {
  const [now, setNow] = useState(serverNow);
  const isSorted = isUrgentFirst(filters);
  useEffect(() => {
    const next = isSorted ? nextChange(listed ?? [], Math.max(now, serverNow())) : Number.POSITIVE_INFINITY;
    if (!Number.isFinite(next)) return undefined;
    const timer = setTimeout(() => setNow(serverNow()), Math.min(Math.max(next - serverNow(), 0) + 1, maxWait));
    return () => clearTimeout(timer);
  }, [isSorted, listed, now]);
  const loaded = pages && horizonOf(filters, pages)?.now;
  return useMemo(() => (isSorted ? horizonAt(Math.max(now, loaded ?? now)) : null), [isSorted, now, loaded]);
}

/** The loaded requests of a list and the horizon of now. */
export function useListed(filters: Filters) {
  const list = useRequests(filters);
  const isLong = list.hasNextPage && isUrgentFirst(filters);
  // The list has just loaded what is most urgent.
  const initialData = () => list.data && { pages: list.data.pages.slice(0, 1), pageParams: list.data.pageParams.slice(0, 1) };
  const head = useRequests({ ...filters, head: true }, { enabled: isLong, refetchInterval: reloadEvery, staleTime: reloadEvery, initialData });
  const headPages = isLong ? head.data : undefined;
  const listed = useMemo(() => itemsOf(list.data, headPages), [list.data, headPages]);
  return { list, listed, present: usePresent(filters, list.data, listed) };
}
