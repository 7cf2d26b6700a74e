import { useRef, useState } from "react";
import { useStrings } from "../strings";
import { useKeys, type Shortcut } from "../widgets/keys";
import { useMessages } from "../widgets/messages";
import { close, open } from "./address";
import type { InboxState } from "./use-inbox";

const settled = 150;

/** Whether one request follows the other so fast that none is looked at: then none is shown, and no key decides it. */
function useHaste(): [boolean, () => void] {
  const [hasty, setHasty] = useState(false);
  const last = useRef(-settled);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const moved = () => {
    const now = performance.now();
    if (now - last.current < settled) setHasty(true);
    last.current = now;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setHasty(false), settled);
  };
  return [hasty, moved];
}

export interface Acts {
  hasty: boolean;
  /** The person walks through the list: what is opened leaves the focus there. */
  walking: boolean;
  open: (id: string) => void;
  move: (by: number) => void;
  select: (id: string, range: boolean) => void;
  selectMore: (by: number) => void;
  showNew: () => void;
  back: () => void;
}

export function useActs(inbox: InboxState): Acts {
  const { cursor, selection, shown, openId, refusalOf } = inbox;
  const message = useMessages();
  const [hasty, moved] = useHaste();
  const [walking, setWalking] = useState(false);

  const move = (by: number) => {
    const id = cursor.step(by);
    if (id === undefined) return;
    cursor.focus(id);
    if (openId === undefined || id === openId) return;
    moved();
    setWalking(true);
    open(id);
  };
  const extend = (id: string) => {
    selection.extend(shown.rows.map(({ request, left }) => ({ id: request.id, can: !left && !refusalOf(request) })), id);
  };
  const select = (id: string, range: boolean) => {
    const row = shown.rows.find(({ request }) => request.id === id);
    const refusal = row && refusalOf(row.request);
    cursor.at(id);
    if (refusal && !selection.ids.has(id)) void message.info({ content: refusal, key: "refusal" });
    else if (range) extend(id);
    else selection.toggle(id);
  };
  return {
    hasty, walking, move, select,
    open: (id) => {
      setWalking(false);
      cursor.at(id);
      open(id);
    },
    selectMore: (by) => {
      const id = cursor.step(by);
      if (id === undefined) return;
      if (selection.ids.size === 0 && cursor.id) extend(cursor.id);
      extend(id);
      cursor.focus(id);
    },
    showNew: () => {
      shown.showNew();
      const newest = shown.listed?.[0];
      if (newest) cursor.focus(newest.id);
    },
    back: () => {
      if (selection.ids.size > 0) return selection.set([]);
      if (openId !== undefined) close();
    },
  };
}

/** The keys of the list; `search` puts the focus into the search. */
export function useListKeys(inbox: InboxState, acts: Acts, search: () => void): void {
  const strings = useStrings();
  const { keys } = strings;
  const { cursor, openId, shown } = inbox;
  const here = (act: (id: string) => void) => () => cursor.id !== undefined && act(cursor.id);
  const shortcuts: (Shortcut | false)[] = [
    { key: "j", label: keys.next, run: () => acts.move(1) },
    { key: "k", label: keys.previous, run: () => acts.move(-1) },
    openId === undefined && { key: "Enter", label: keys.open, run: here(acts.open) },
    { key: "x", label: keys.select, run: here((id) => acts.select(id, false)), once: true },
    { key: "X", label: keys.range, run: here((id) => acts.select(id, true)), once: true },
    shown.fresh.length > 0 && { key: "n", label: keys.showNew, run: acts.showNew },
    shown.fresh.length > 0 && { key: ".", label: keys.showNew, run: acts.showNew },
    { key: "/", label: keys.search, run: search },
    { key: "mod+k", label: keys.search, run: search, whileTyping: true },
    { key: "Escape", label: keys.back, run: acts.back },
  ];
  useKeys(strings.inbox, shortcuts.filter((shortcut) => shortcut !== false));
}
