import { useRef, useState } from "react";
import { useStrings } from "../strings";
import { useKeys, type Shortcut } from "../base/keys";
import { useMessages } from "../widgets/messages";
import { closeRequest, openRequest } from "./inbox-url";
import { membersOf, type InboxRow } from "./flood";
import type { InboxState } from "./use-inbox";

const settleTime = 150;

/** Return whether requests are skipped so fast that none should be rendered or react to keys. */
function useFastNavigation(): [boolean, () => void] {
  const [isSkimming, setSkimming] = useState(false);
  const last = useRef(-settleTime);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const moved = () => {
    const now = performance.now();
    if (now - last.current < settleTime) setSkimming(true);
    last.current = now;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setSkimming(false), settleTime);
  };
  return [isSkimming, moved];
}

export interface ListActions {
  isSkimming: boolean;
  /** The person moves through the list with keys, so an opened request must not take the focus. */
  isNavigating: boolean;
  open: (id: string) => void;
  move: (by: number) => void;
  select: (id: string, range: boolean) => void;
  selectMore: (by: number) => void;
  showNew: () => void;
  back: () => void;
}

export function useListActions(inbox: InboxState): ListActions {
  const { cursor, selection, view, openId, refusalOf } = inbox;
  const message = useMessages();
  const [isSkimming, moved] = useFastNavigation();
  const [isNavigating, setNavigating] = useState(false);

  const move = (by: number) => {
    const id = cursor.step(by);
    if (id === undefined) return;
    cursor.focus(id);
    if (openId === undefined || id === openId) return;
    moved();
    setNavigating(true);
    openRequest(id);
  };
  const selectable = (row: InboxRow) => (row.isOutdated ? [] : membersOf(row).filter((request) => !refusalOf(request)).map((request) => request.id));
  const extend = (id: string) => {
    selection.extend(view.rows.map((row) => ({ id: row.request.id, ids: selectable(row) })), id);
  };
  const select = (id: string, range: boolean) => {
    const row = view.rows.find(({ request }) => request.id === id);
    const refusal = row && refusalOf(row.request);
    cursor.at(id);
    if (refusal && !selection.ids.has(id)) void message.info({ content: refusal, key: "refusal" });
    else if (range) extend(id);
    else selection.toggle(id, row && selectable(row));
  };
  return {
    isSkimming, isNavigating, move, select,
    open: (id) => {
      const row = view.rows.find(({ request }) => request.id === id);
      if (row?.bundle === "tool") view.openBundle(row);
      setNavigating(false);
      cursor.at(id);
      openRequest(id);
    },
    selectMore: (by) => {
      const id = cursor.step(by);
      if (id === undefined) return;
      if (selection.ids.size === 0 && cursor.id) extend(cursor.id);
      extend(id);
      cursor.focus(id);
    },
    showNew: () => {
      const first = view.showNew();
      if (first) cursor.focus(first.id);
    },
    back: () => {
      if (selection.ids.size > 0) return selection.set([]);
      if (openId !== undefined) closeRequest();
    },
  };
}

/** Bind the list's keyboard shortcuts; `search` focuses the search box. */
export function useListKeys(inbox: InboxState, actions: ListActions, search: () => void): void {
  const strings = useStrings();
  const { keys } = strings;
  const { cursor, openId, view } = inbox;
  const onCursor = (act: (id: string) => void) => () => cursor.id !== undefined && act(cursor.id);
  const shortcuts: (Shortcut | false)[] = [
    { key: "j", label: keys.next, run: () => actions.move(1) },
    { key: "k", label: keys.previous, run: () => actions.move(-1) },
    openId === undefined && { key: "Enter", label: keys.open, run: onCursor(actions.open) },
    { key: "x", label: keys.select, run: onCursor((id) => actions.select(id, false)), once: true },
    { key: "X", label: keys.range, run: onCursor((id) => actions.select(id, true)), once: true },
    view.waiting > 0 && { key: "n", label: keys.showNewRequests, run: actions.showNew },
    view.waiting > 0 && { key: ".", label: keys.showNewRequests, run: actions.showNew },
    { key: "/", label: keys.search, run: search },
    { key: "Escape", label: keys.back, run: actions.back },
  ];
  useKeys(strings.inbox, shortcuts.filter((shortcut) => shortcut !== false));
}
