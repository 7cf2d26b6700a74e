import { defaultRangeExtractor, useWindowVirtualizer, type Range } from "@tanstack/react-virtual";
import { useLayoutEffect, useState, type RefObject } from "react";
import type { Item } from "./stream";

/** Up to this many rows are all in the document, so that the browser's search finds them. */
const minVirtualized = 150;

const heights: Record<Item["kind"], number> = {
  run: 30, end: 30, step: 24, tool: 32, custom: 32, message: 64, error: 80, pause: 320,
};

/** Return the list's offset on the page; content above it may grow. */
function useTop(list: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => list.current && setTop(Math.round(list.current.getBoundingClientRect().top + window.scrollY));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [list]);
  return top;
}

/** Render the visible rows and the pinned ones, which may contain typed text. */
export function useRows(list: RefObject<HTMLElement | null>, items: Item[], isPinned: (item: Item) => boolean) {
  const within = (range: Range) => {
    if (range.count <= minVirtualized) return Array.from({ length: range.count }, (_, index) => index);
    const pinned = items.flatMap((item, index) => (isPinned(item) ? [index] : []));
    return [...new Set([...pinned, ...defaultRangeExtractor(range)])].toSorted((one, other) => one - other);
  };
  // oxlint-disable-next-line react/incompatible-library -- nothing here is handed to what a compiler memoises
  return useWindowVirtualizer<HTMLDivElement>({
    count: items.length,
    estimateSize: (index) => heights[items[index]?.kind ?? "message"],
    getItemKey: (index) => items[index]?.key ?? index,
    rangeExtractor: within,
    scrollMargin: useTop(list),
    scrollPaddingStart: 72,
    scrollPaddingEnd: 72,
    overscan: 10,
    gap: 8,
  });
}
