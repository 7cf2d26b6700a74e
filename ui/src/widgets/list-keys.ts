import type { RefObject } from "react";
import type { Shortcut } from "../base/keys";

type List = RefObject<HTMLElement | null>;

const rowsIn = (list: List) => [...(list.current?.children ?? [])].filter((row) => row instanceof HTMLElement);

/** Return the row of a list that contains the focus. */
export function focusedRow(list: List): HTMLElement | undefined {
  return rowsIn(list).find((row) => row.contains(document.activeElement));
}

/** Return shortcuts that move between the links of a list's rows. */
export function useListKeys(list: List, next: string, previous: string): Shortcut[] {
  const move = (by: 1 | -1) => {
    const rows = rowsIn(list);
    const now = focusedRow(list);
    const row = rows[now ? Math.min(rows.length - 1, Math.max(0, rows.indexOf(now) + by)) : 0];
    row?.querySelector<HTMLElement>("a[href]")?.focus();
    row?.scrollIntoView({ block: "nearest" });
  };
  return [{ key: "j", label: next, run: () => move(1) }, { key: "k", label: previous, run: () => move(-1) }];
}
