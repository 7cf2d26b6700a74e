import type { Section } from "../api/lists";
import type { InboxRow } from "./flood";

/** All rows have the same height, and so have all headings, so nothing is measured. */
export const rowHeights = { wide: 64, narrow: 84 };
export const headingHeight = 32;

/** The places of the rows and of the headings between them. */
export interface Layout {
  rows: readonly InboxRow[];
  rowHeight: number;
  /** The rows with a heading above them; the heading of the first section is outside of the list. */
  starts: readonly number[];
}

export function layoutOf(rows: readonly InboxRow[], rowHeight: number): Layout {
  const starts = rows.flatMap(({ section }, index) => (index > 0 && section !== rows[index - 1]?.section ? [index] : []));
  return { rows, rowHeight, starts };
}

const headingsUntil = ({ starts }: Layout, index: number) => starts.filter((start) => start <= index).length;

/** Return a row's offset from the top of the list, in pixels. */
export const topOf = (layout: Layout, index: number) => index * layout.rowHeight + headingsUntil(layout, index) * headingHeight;

/** Return the row at an offset; a heading belongs to the row below it. */
export function indexAt(layout: Layout, offset: number): number {
  const { rowHeight, rows, starts } = layout;
  const passed = starts.filter((start) => topOf(layout, start) - headingHeight <= offset).length;
  const index = Math.max(Math.floor((offset - passed * headingHeight) / rowHeight), starts[passed - 1] ?? 0);
  return Math.min(index, (starts[passed] ?? rows.length) - 1);
}

/** An entry of the list: a row by its index, or the heading of a section. */
export type Entry = { row: number } | { heading: Section | null };

/** Return the entry at a place in the list that counts rows and headings. */
export function entryAt({ rows, starts }: Layout, place: number): Entry {
  const before = starts.filter((start, index) => start + index < place).length;
  const row = place - before;
  return starts[before] === row ? { heading: rows[row]?.section ?? null } : { row };
}

export const placeOf = (layout: Layout, index: number) => index + headingsUntil(layout, index);

/** Return how many requests a section has, and whether more may follow that are not loaded. */
export function countOf({ rows }: Layout, section: Section | null, hasMore: boolean): { count: number; isPartial: boolean } {
  const first = rows.findIndex((row) => row.section === section);
  const last = rows.findLastIndex((row) => row.section === section);
  const count = first < 0 ? 0 : rows.slice(first, last + 1).reduce((sum, { others }) => sum + others.length + 1, 0);
  return { count, isPartial: hasMore && last === rows.length - 1 };
}

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
