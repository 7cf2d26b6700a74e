import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { keepAnchor, positionAt, readPosition, savePosition, scrollTopFor } from "./scroll-position";
import type { InboxRow } from "./stable-rows";
import type { InboxState } from "./use-inbox";

type Scroller = RefObject<HTMLDivElement | null>;

/** Keep visible rows in place when rows above them change. */
function useScrollAnchor(rows: readonly InboxRow[], scroller: Scroller): void {
  const before = useRef(rows);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && before.current !== rows) element.scrollTo({ top: keepAnchor(before.current, rows, element.scrollTop) });
    before.current = rows;
  }, [rows, scroller]);
}

function useSavePosition(of: string, rows: readonly InboxRow[], scroller: Scroller, isRestored: boolean): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !isRestored) return undefined;
    const save = () => savePosition(of, positionAt(rows, element.scrollTop));
    element.addEventListener("scroll", save, { passive: true });
    return () => {
      // The browser reports a scroll one frame late, when the list may be gone.
      save();
      element.removeEventListener("scroll", save);
    };
  }, [of, rows, scroller, isRestored]);
}

/**
 * Restore a list's scroll position after a request was open, and after a reload.
 *
 * Returns the scroll offset; undefined while the pages for it are loading.
 */
export function useScrollPosition({ view, list }: InboxState, scroller: Scroller): number | undefined {
  const { listKey, rows } = view;
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const [position] = useState(() => readPosition(listKey));
  const top = position ? scrollTopFor(position, rows, !hasNextPage || isFetchNextPageError) : 0;
  const [isRestored, setRestored] = useState(top !== undefined);
  if (!isRestored && top !== undefined) setRestored(true);

  useScrollAnchor(rows, scroller);
  useEffect(() => {
    if (!isRestored && !isFetchingNextPage) void fetchNextPage();
  }, [isRestored, isFetchingNextPage, fetchNextPage]);
  const restore = useEffectEvent(() => scroller.current?.scrollTo({ top: top ?? 0 }));
  useLayoutEffect(() => {
    if (isRestored) restore();
  }, [isRestored]);
  useSavePosition(listKey, rows, scroller, isRestored);
  return isRestored ? (top ?? 0) : undefined;
}
