import { useEffect, useRef } from "react";

export interface Shortcut {
  /** As `KeyboardEvent.key`; `mod+k` is Ctrl or ⌘ with k. */
  key: string;
  label: string;
  run: () => void;
  /** Also while a text is typed. */
  whileTyping?: boolean;
}

export interface ShortcutGroup {
  title: string;
  shortcuts: Shortcut[];
}

const groups = new Set<{ current: ShortcutGroup }>();

/** What the keys do now, for the help; the newest group wins a key that two of them want. */
export const shortcutGroups = (): ShortcutGroup[] => [...groups].map((group) => group.current);

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const { type } = target as HTMLInputElement;
  if (target instanceof HTMLInputElement) return !["button", "checkbox", "radio", "submit", "reset", "range"].includes(type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

const nameOf = (event: KeyboardEvent) => `${event.metaKey || event.ctrlKey ? "mod+" : ""}${event.key}`;

function pressed(event: KeyboardEvent): void {
  // An input method that composes a character sends keys that are not meant for the page.
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  if (document.querySelector(".ant-modal-wrap:not([style*='display: none'])") && event.key !== "Escape") return;
  const typing = isTyping(event.target);
  const wanted = shortcutGroups().reverse().flatMap((group) => group.shortcuts)
    .find((shortcut) => shortcut.key === nameOf(event) && (!typing || shortcut.whileTyping));
  if (!wanted) return;
  event.preventDefault();
  wanted.run();
}

/** Let keys do something while mounted, and list them in the help. */
export function useKeys(title: string, shortcuts: Shortcut[]): void {
  const group = useRef({ title, shortcuts });
  useEffect(() => {
    group.current = { title, shortcuts };
  });
  useEffect(() => {
    groups.add(group);
    if (groups.size === 1) document.addEventListener("keydown", pressed);
    return () => {
      groups.delete(group);
      if (groups.size === 0) document.removeEventListener("keydown", pressed);
    };
  }, []);
}
