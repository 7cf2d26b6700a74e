import type { InboxRow } from "./stable-rows";

/** Each row is equally high, so that a place is a number and nothing has to be measured. */
export const rowHeight = 64;

/** Where a list was left: its first row on screen, and how far that one was pushed up. */
export interface ScrollPosition {
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

/** Return how far to scroll for a place; undefined while more rows have to be loaded to know. */
export function scrollTopFor(position: ScrollPosition, rows: readonly InboxRow[], isWhole: boolean): number | undefined {
  const found = rows.findIndex((row) => row.request.id === position.id);
  if (found >= 0) return found * rowHeight + position.offset;
  // A row that is gone leaves its number: the ones around it are still there.
  return isWhole || rows.length > position.index + 50 ? position.index * rowHeight : undefined;
}

/** Return how far to scroll so that what stands on screen still does after rows came or went above it. */
export function keepAnchor(before: readonly InboxRow[], after: readonly InboxRow[], scrolled: number): number {
  // At the very top one wants to see what comes.
  if (scrolled === 0) return 0;
  const first = Math.floor(scrolled / rowHeight);
  const indexes = new Map(after.map((row, index) => [row.request.id, index]));
  const anchor = before.findIndex((row, index) => index >= first && indexes.has(row.request.id));
  const id = before[anchor]?.request.id;
  return id === undefined ? scrolled : scrolled + ((indexes.get(id) ?? anchor) - anchor) * rowHeight;
}

/** Return how far to scroll, and no farther, so that a row is seen whole. */
export function scrollTopToReveal(index: number, scrolled: number, height: number): number {
  return Math.max(Math.min(scrolled, index * rowHeight), (index + 1) * rowHeight - height);
}

export function savePosition(list: string, position: ScrollPosition | undefined): void {
  try {
    if (position && position.index + position.offset > 0) sessionStorage.setItem(storageKey(list), JSON.stringify(position));
    else sessionStorage.removeItem(storageKey(list));
  } catch {
    // A browser that keeps nothing begins at the top again.
  }
}

export function readPosition(list: string): ScrollPosition | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(storageKey(list)) ?? "null") as ScrollPosition | null) ?? undefined;
  } catch {
    return undefined;
  }
}
