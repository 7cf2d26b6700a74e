import { useState, type DOMAttributes } from "react";

interface Row {
  id: string;
}

interface FrozenRows<T extends Row> {
  rows: T[];
  /** How many new ones wait until the reader lets them in. */
  newCount: number;
  showNew: () => void;
  /** For the element that must not move under the reader's pointer or focus. */
  handlers: Pick<DOMAttributes<HTMLElement>, "onPointerEnter" | "onPointerLeave" | "onFocus" | "onBlur">;
}

/** While somebody points at a list or stands in it, rows change where they are: none comes, none goes. */
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
