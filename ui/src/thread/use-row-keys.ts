import { useEffect, useRef, useState, type RefObject } from "react";
import { useStrings } from "../strings";
import type { Shortcut } from "../base/keys";

interface Rows {
  list: RefObject<HTMLElement | null>;
  keys: number[];
  show: (index: number) => void;
}

/** Open a row's disclosure, or focus its first control. */
function enter(row: HTMLElement | null): void {
  const summary = row?.querySelector<HTMLElement>(".disclosure > summary");
  if (summary) summary.click();
  else row?.querySelector<HTMLElement>("input:not([disabled]), textarea:not([disabled]), button:not([disabled]), a[href]")?.focus();
}

/** Bind keys that move between rows, and return the row that has the focus. */
export function useRowKeys({ list, keys, show }: Rows) {
  const strings = useStrings();
  const [at, setAt] = useState<number>();
  const pendingFocus = useRef<number | undefined>(undefined);
  const rowOf = (key: number | undefined) => list.current?.querySelector<HTMLElement>(`:scope > [data-key="${key}"]`) ?? null;

  useEffect(() => {
    const rows = list.current;
    const onFocusIn = ({ target }: FocusEvent) => {
      const row = target instanceof Element && target.closest<HTMLElement>("[data-key]");
      if (row) setAt(Number(row.dataset.key));
    };
    rows?.addEventListener("focusin", onFocusIn);
    return () => rows?.removeEventListener("focusin", onFocusIn);
  }, [list]);

  useEffect(() => {
    const row = pendingFocus.current === undefined ? null : rowOf(pendingFocus.current);
    if (!row) return;
    // An open question has its own keys while it has the focus.
    const open = row.querySelector<HTMLElement>("article[data-status=pending]");
    (open ?? row).focus({ preventScroll: true });
    pendingFocus.current = undefined;
  });

  const move = (by: 1 | -1) => {
    const before = at === undefined ? -1 : keys.indexOf(at);
    const next = before < 0 ? keys.length - 1 : Math.min(keys.length - 1, Math.max(0, before + by));
    pendingFocus.current = keys[next];
    setAt(keys[next]);
    show(next);
  };
  const shortcuts: Shortcut[] = [
    { key: "j", label: strings.nextEntry, run: () => move(1) },
    { key: "k", label: strings.previousEntry, run: () => move(-1) },
    { key: "Enter", label: strings.openEntry, run: () => enter(rowOf(at)) },
  ];
  return { at, shortcuts };
}
