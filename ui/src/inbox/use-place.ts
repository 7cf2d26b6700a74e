import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { anchored, placeIn, savedPlace, savePlace, scrollFor } from "./place";
import type { Row } from "./steady";
import type { InboxState } from "./use-inbox";

type Scroller = RefObject<HTMLDivElement | null>;

/** Rows that come or go above leave what is on screen where it is. */
function useAnchor(rows: readonly Row[], scroller: Scroller): void {
  const before = useRef(rows);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && before.current !== rows) element.scrollTo({ top: anchored(before.current, rows, element.scrollTop) });
    before.current = rows;
  }, [rows, scroller]);
}

function useSaved(of: string, rows: readonly Row[], scroller: Scroller, isThere: boolean): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !isThere) return undefined;
    const save = () => savePlace(of, placeIn(rows, element.scrollTop));
    element.addEventListener("scroll", save, { passive: true });
    return () => {
      // The browser tells of a scroll one frame late, when the list may be gone.
      save();
      element.removeEventListener("scroll", save);
    };
  }, [of, rows, scroller, isThere]);
}

/**
 * Keep a list's place, over the way to a request and back and over a reload.
 *
 * Returns how far to scroll for it; undefined while pages are loaded that nobody looks at.
 */
export function usePlace({ shown, list }: InboxState, scroller: Scroller): number | undefined {
  const { of, rows } = shown;
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const [wanted] = useState(() => savedPlace(of));
  const top = wanted ? scrollFor(wanted, rows, !hasNextPage || isFetchNextPageError) : 0;
  const [isThere, setThere] = useState(top !== undefined);
  if (!isThere && top !== undefined) setThere(true);

  useAnchor(rows, scroller);
  useEffect(() => {
    if (!isThere && !isFetchingNextPage) void fetchNextPage();
  }, [isThere, isFetchingNextPage, fetchNextPage]);
  const arrive = useEffectEvent(() => scroller.current?.scrollTo({ top: top ?? 0 }));
  useLayoutEffect(() => {
    if (isThere) arrive();
  }, [isThere]);
  useSaved(of, rows, scroller, isThere);
  return isThere ? (top ?? 0) : undefined;
}
