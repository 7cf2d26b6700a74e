import { useState, type DOMAttributes } from "react";

interface Row {
  id: string;
}

interface Held<T extends Row> {
  rows: T[];
  /** How many new ones wait until the reader lets them in. */
  waiting: number;
  letIn: () => void;
  /** For the element that must not move under the reader's pointer or focus. */
  watch: Pick<DOMAttributes<HTMLElement>, "onPointerEnter" | "onPointerLeave" | "onFocus" | "onBlur">;
}

/** While somebody points at a list or stands in it, rows change where they are: none comes, none goes. */
export function useHeld<T extends Row>(newest: T[]): Held<T> {
  const [shown, setShown] = useState<T[]>();
  const hold = () => setShown((before) => before ?? newest);
  const letGo = () => setShown(undefined);
  if (shown === undefined) {
    return { rows: newest, waiting: 0, letIn: letGo, watch: { onPointerEnter: hold, onFocus: hold } };
  }
  const now = new Map(newest.map((row) => [row.id, row]));
  const held = new Set(shown.map(({ id }) => id));
  return {
    rows: shown.map((row) => now.get(row.id) ?? row),
    waiting: newest.filter(({ id }) => !held.has(id)).length,
    letIn: () => setShown(newest),
    watch: {
      onPointerLeave: ({ currentTarget }) => !currentTarget.contains(document.activeElement) && letGo(),
      onBlur: ({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && !currentTarget.matches(":hover") && letGo(),
    },
  };
}
