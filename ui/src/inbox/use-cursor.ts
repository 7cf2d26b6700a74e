import { useState } from "react";
import type { InboxRow } from "./stable-rows";

export interface Cursor {
  /** Where Tab and the keys are; the first row until somebody has been elsewhere. */
  id: string | undefined;
  index: number;
  /** The row that shall have the focus; the count tells one wish from the next. */
  focusTarget: { id: string; count: number } | undefined;
  /** Go there with the focus. */
  focus: (id: string) => void;
  /** Be there already. */
  at: (id: string) => void;
  /** The row so many steps away, at most the last. */
  step: (by: number) => string | undefined;
}

export function useCursor(rows: readonly InboxRow[], openId: string | undefined): Cursor {
  const [position, setPosition] = useState<string>();
  const [focusTarget, setFocusTarget] = useState<Cursor["focusTarget"]>();
  const find = (id: string | undefined) => rows.findIndex((row) => row.request.id === id);
  const index = [position, openId].map(find).find((found) => found >= 0) ?? 0;
  const here = rows[index]?.request.id;
  // Before the first step nobody is anywhere: it leads to the first row, not to the second.
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
