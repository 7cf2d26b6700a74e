import type { InboxRow } from "./stable-rows";

/** All rows have the same height, so a position is a number and nothing is measured. */
export const rowHeight = 64;

/** A scroll position: the first visible row, and how far it was scrolled. */
interface ScrollPosition {
  id: string;
  index: number;
  offset: number;
}

const storageKey = (list: string) => `ringi.position/${list}`;

export function positionAt(rows: readonly InboxRow[], scrolled: number): ScrollPosition | undefined {
  const index = Math.min(Math.floor(scrolled / rowHeight), rows.length - 1);
  const row = rows[index];
  return row && { id: row.request.id, index, offset: scrolled - index * rowHeight };
}

/** Return the scroll offset for a position; undefined until enough rows are loaded. */
export function scrollTopFor(position: ScrollPosition, rows: readonly InboxRow[], isWhole: boolean): number | undefined {
  const found = rows.findIndex((row) => row.request.id === position.id);
  if (found >= 0) return found * rowHeight + position.offset;
  // If the row is gone, use its index: the rows around it are still there.
  return isWhole || rows.length > position.index + 50 ? position.index * rowHeight : undefined;
}

/** Return the scroll offset that keeps the visible rows in place after rows above them changed. */
export function keepAnchor(before: readonly InboxRow[], after: readonly InboxRow[], scrolled: number): number {
  // At the top, new rows should be visible.
  if (scrolled === 0) return 0;
  const first = Math.floor(scrolled / rowHeight);
  const indexes = new Map(after.map((row, index) => [row.request.id, index]));
  const anchor = before.findIndex((row, index) => index >= first && indexes.has(row.request.id));
  const id = before[anchor]?.request.id;
  return id === undefined ? scrolled : scrolled + ((indexes.get(id) ?? anchor) - anchor) * rowHeight;
}

/** Return the smallest scroll that makes a row fully visible. */
export function scrollTopToReveal(index: number, scrolled: number, height: number): number {
  return Math.max(Math.min(scrolled, index * rowHeight), (index + 1) * rowHeight - height);
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
