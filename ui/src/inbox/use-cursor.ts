import { useState } from "react";
import type { InboxRow } from "./flood";

export interface Cursor {
  /** The row that has the keyboard focus; initially the first. */
  id: string | undefined;
  index: number;
  /** The row that should get the focus; the count tells repeated targets apart. */
  focusTarget: { id: string; count: number } | undefined;
  /** Move to a row and focus it. */
  focus: (id: string) => void;
  /** Record that the focus is on a row. */
  at: (id: string) => void;
  /** Return the id of the row that many steps away, within the list. */
  step: (by: number) => string | undefined;
}

export function useCursor(rows: readonly InboxRow[], openId: string | undefined): Cursor {
  const [position, setPosition] = useState<string>();
  const [focusTarget, setFocusTarget] = useState<Cursor["focusTarget"]>();
  const find = (id: string | undefined) => rows.findIndex(({ request, others }) => request.id === id || others.some((other) => other.id === id));
  const index = [position, openId].map(find).find((found) => found >= 0) ?? 0;
  const here = rows[index]?.request.id;
  // The first step leads to the first row, not to the second.
  const isSomewhere = here !== undefined && (here === position || here === openId);
  return {
    id: here,
    index,
    focusTarget,
    focus: (id) => {
      setPosition(id);
      setFocusTarget((old) => ({ id, count: (old?.count ?? 0) + 1 }));
    },
    at: setPosition,
    step: (by) => rows[Math.max(0, Math.min(rows.length - 1, isSomewhere ? index + by : 0))]?.request.id,
  };
}
