import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { keepAnchor, positionAt, readPosition, savePosition, scrollTopFor } from "./scroll-position";
import type { Layout } from "./layout";
import type { InboxState } from "./use-inbox";

type Scroller = RefObject<HTMLDivElement | null>;

/** Keep visible rows in place when rows above them change. */
function useScrollAnchor(layout: Layout, scroller: Scroller): void {
  const before = useRef(layout);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && before.current !== layout) element.scrollTo({ top: keepAnchor(before.current, layout, element.scrollTop) });
    before.current = layout;
  }, [layout, scroller]);
}

function useSavePosition(of: string, layout: Layout, scroller: Scroller, isRestored: boolean): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !isRestored) return undefined;
    const save = () => savePosition(of, positionAt(layout, element.scrollTop));
    element.addEventListener("scroll", save, { passive: true });
    return () => {
      // The browser reports a scroll one frame late, when the list may be gone.
      save();
      element.removeEventListener("scroll", save);
    };
  }, [of, layout, scroller, isRestored]);
}

/**
 * Restore a list's scroll position after a request was open, and after a reload.
 *
 * Returns the scroll offset; undefined while the pages for it are loading.
 */
export function useScrollPosition({ view, list }: InboxState, layout: Layout, scroller: Scroller): number | undefined {
  const { listKey } = view;
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const [position] = useState(() => readPosition(listKey));
  const top = position ? scrollTopFor(position, layout, !hasNextPage || isFetchNextPageError) : 0;
  const [isRestored, setRestored] = useState(top !== undefined);
  if (!isRestored && top !== undefined) setRestored(true);

  useScrollAnchor(layout, scroller);
  useEffect(() => {
    if (!isRestored && !isFetchingNextPage) void fetchNextPage();
  }, [isRestored, isFetchingNextPage, fetchNextPage]);
  const restore = useEffectEvent(() => scroller.current?.scrollTo({ top: top ?? 0 }));
  useLayoutEffect(() => {
    if (isRestored) restore();
  }, [isRestored]);
  useSavePosition(listKey, layout, scroller, isRestored);
  return isRestored ? (top ?? 0) : undefined;
}
