import type { Row } from "./steady";

/** Each row is equally high, so that a place is a number and nothing has to be measured. */
export const rowHeight = 64;

/** Where a list was left: its first row on screen, and how far that one was pushed up. */
export interface Place {
  id: string;
  index: number;
  offset: number;
}

const nameOf = (list: string) => `ringi.place/${list}`;

export function placeIn(rows: readonly Row[], scrolled: number): Place | undefined {
  const index = Math.min(Math.floor(scrolled / rowHeight), rows.length - 1);
  const row = rows[index];
  return row && { id: row.request.id, index, offset: scrolled - index * rowHeight };
}

/** Return how far to scroll for a place; undefined while more rows have to be loaded to know. */
export function scrollFor(place: Place, rows: readonly Row[], isWhole: boolean): number | undefined {
  const found = rows.findIndex((row) => row.request.id === place.id);
  if (found >= 0) return found * rowHeight + place.offset;
  // A row that is gone leaves its number: the ones around it are still there.
  return isWhole || rows.length > place.index + 50 ? place.index * rowHeight : undefined;
}

/** Return how far to scroll so that what stands on screen still does after rows came or went above it. */
export function anchored(before: readonly Row[], after: readonly Row[], scrolled: number): number {
  // At the very top one wants to see what comes.
  if (scrolled === 0) return 0;
  const first = Math.floor(scrolled / rowHeight);
  const indexes = new Map(after.map((row, index) => [row.request.id, index]));
  const anchor = before.findIndex((row, index) => index >= first && indexes.has(row.request.id));
  const id = before[anchor]?.request.id;
  return id === undefined ? scrolled : scrolled + ((indexes.get(id) ?? anchor) - anchor) * rowHeight;
}

/** Return how far to scroll, and no farther, so that a row is seen whole. */
export function scrollToSee(index: number, scrolled: number, height: number): number {
  return Math.max(Math.min(scrolled, index * rowHeight), (index + 1) * rowHeight - height);
}

export function savePlace(list: string, place: Place | undefined): void {
  try {
    if (place && place.index + place.offset > 0) sessionStorage.setItem(nameOf(list), JSON.stringify(place));
    else sessionStorage.removeItem(nameOf(list));
  } catch {
    // A browser that keeps nothing begins at the top again.
  }
}

export function savedPlace(list: string): Place | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(nameOf(list)) ?? "null") as Place | null) ?? undefined;
  } catch {
    return undefined;
  }
}
