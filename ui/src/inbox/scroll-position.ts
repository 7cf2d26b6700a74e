import { indexAt, topOf, type Layout } from "./layout";

/** A scroll position: the first visible row, and how far it was scrolled. */
interface ScrollPosition {
  id: string;
  index: number;
  offset: number;
}

const storageKey = (list: string) => `ringi.position/${list}`;

export function positionAt(layout: Layout, scrolled: number): ScrollPosition | undefined {
  const index = indexAt(layout, scrolled);
  const row = layout.rows[index];
  return row && { id: row.request.id, index, offset: scrolled - topOf(layout, index) };
}

/** Return the scroll offset for a position; undefined until enough rows are loaded. */
export function scrollTopFor(position: ScrollPosition, layout: Layout, isWhole: boolean): number | undefined {
  const { rows } = layout;
  const found = rows.findIndex((row) => row.request.id === position.id);
  if (found >= 0) return topOf(layout, found) + position.offset;
  // If the row is gone, use its index: the rows around it are still there.
  return isWhole || rows.length > position.index + 50 ? topOf(layout, position.index) : undefined;
}

/** Return the scroll offset that keeps the visible rows in place after rows above them changed. */
export function keepAnchor(before: Layout, after: Layout, scrolled: number): number {
  // At the top, new rows should be visible.
  if (scrolled === 0) return 0;
  const first = indexAt(before, scrolled);
  const indexes = new Map(after.rows.map((row, index) => [row.request.id, index]));
  const anchor = before.rows.findIndex((row, index) => index >= first && indexes.has(row.request.id));
  const now = indexes.get(before.rows[anchor]?.request.id ?? "");
  return now === undefined ? scrolled : scrolled + topOf(after, now) - topOf(before, anchor);
}

/** Return the smallest scroll that makes a row fully visible. */
export function scrollTopToReveal(layout: Layout, index: number, scrolled: number, height: number): number {
  const top = topOf(layout, index);
  return Math.max(Math.min(scrolled, top), top + layout.rowHeight - height);
}

export function savePosition(list: string, position: ScrollPosition | undefined): void {
  try {
    if (position && position.index + position.offset > 0) sessionStorage.setItem(storageKey(list), JSON.stringify(position));
    else sessionStorage.removeItem(storageKey(list));
  } catch {
    // Without storage the list starts at the top.
  }
}

export function readPosition(list: string): ScrollPosition | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(storageKey(list)) ?? "null") as ScrollPosition | null) ?? undefined;
  } catch {
    return undefined;
  }
}
