import { type RefObject, useState, type DOMAttributes } from "react";
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

interface Row {
  id: string;
}

interface FrozenRows<T extends Row> {
  rows: T[];
  /** Number of new rows that wait to be shown. */
  newCount: number;
  showNew: () => void;
  /** Handlers for the element that must not move under the pointer or the focus. */
  handlers: Pick<DOMAttributes<HTMLElement>, "onPointerEnter" | "onPointerLeave" | "onFocus" | "onBlur">;
}

/** Freeze a list while somebody points at it or has the focus in it: rows update, but none is added or removed. */
export function useFrozenRows<T extends Row>(newest: T[]): FrozenRows<T> {
  const [frozen, setFrozen] = useState<T[]>();
  const freeze = () => setFrozen((before) => before ?? newest);
  const unfreeze = () => setFrozen(undefined);
  if (frozen === undefined) {
    return { rows: newest, newCount: 0, showNew: unfreeze, handlers: { onPointerEnter: freeze, onFocus: freeze } };
  }
  const now = new Map(newest.map((row) => [row.id, row]));
  const frozenIds = new Set(frozen.map(({ id }) => id));
  return {
    rows: frozen.map((row) => now.get(row.id) ?? row),
    newCount: newest.filter(({ id }) => !frozenIds.has(id)).length,
    showNew: () => setFrozen(newest),
    handlers: {
      onPointerLeave: ({ currentTarget }) => !currentTarget.contains(document.activeElement) && unfreeze(),
      onBlur: ({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && !currentTarget.matches(":hover") && unfreeze(),
    },
  };
}
