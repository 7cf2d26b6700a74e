import { useEffect, useRef } from "react";

export interface Shortcut {
  /** The key as in `KeyboardEvent.key`; `mod+k` is Ctrl or ⌘ with k, `g i` is g and then i. */
  key: string;
  label: string;
  run: () => void;
  /** True if the shortcut also works while typing; "only" if it works only then. */
  whileTyping?: boolean | "only";
  /** Ignore repeats while the key is held down. */
  once?: boolean;
  /** Wins over every other shortcut with this key. */
  isUrgent?: boolean;
}

interface ShortcutGroup {
  title: string;
  shortcuts: Shortcut[];
}

const groups = new Set<{ current: ShortcutGroup }>();

/** Return the active shortcuts; the newest group wins a shared key. */
export const shortcutGroups = (): ShortcutGroup[] => [...groups].map((group) => group.current);

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const { type } = target as HTMLInputElement;
  if (target instanceof HTMLInputElement) return !["button", "checkbox", "radio", "submit", "reset", "range"].includes(type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

/** Return whether a button or a link handles this key as its own click. */
function isClick({ key, target }: KeyboardEvent): boolean {
  return (key === "Enter" || key === " ") && target instanceof Element && target.closest("button, a[href], summary") !== null;
}

const nameOf = (event: KeyboardEvent) => `${event.metaKey || event.ctrlKey ? "mod+" : ""}${event.key}`;

let previousKey = { name: "", at: 0 };

/** Return the names to look up: the sequence with the previous key if it was quick, then the key alone. */
function keyNames(event: KeyboardEvent): string[] {
  const name = nameOf(event);
  const pair = event.timeStamp - previousKey.at < 1_000 ? [`${previousKey.name} ${name}`] : [];
  previousKey = { name, at: event.timeStamp };
  return [...pair, name];
}

function shortcutFor(name: string, typing: boolean): Shortcut | undefined {
  const matches = shortcutGroups().reverse().flatMap((group) => group.shortcuts)
    .filter((shortcut) => shortcut.key === name && (typing ? shortcut.whileTyping : shortcut.whileTyping !== "only"));
  return matches.find(({ isUrgent }) => isUrgent) ?? matches[0];
}

/** An open dialog handles all keys itself. */
const dialog = ".ant-modal-wrap:not([style*='display: none']), .ant-drawer-open";

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || isClick(event)) return;
  if (document.querySelector(dialog)) return;
  const typing = isTyping(event.target);
  const match = keyNames(event).map((name) => shortcutFor(name, typing)).find(Boolean);
  if (!match) return;
  event.preventDefault();
  if (event.repeat && match.once) return;
  match.run();
}

/** Bind shortcuts while mounted, and list them in the help. */
export function useKeys(title: string, shortcuts: Shortcut[]): void {
  const group = useRef({ title, shortcuts });
  useEffect(() => {
    group.current = { title, shortcuts };
  });
  useEffect(() => {
    groups.add(group);
    if (groups.size === 1) document.addEventListener("keydown", onKeyDown);
    return () => {
      groups.delete(group);
      if (groups.size === 0) document.removeEventListener("keydown", onKeyDown);
    };
  }, []);
}

/** The key that makes combinations on this machine. */
export const modKey = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

/** A button label with its keyboard shortcut. */
export function KeyLabel({ label, keyName }: { label: string; keyName: string }) {
  return <span>{label}<kbd className="key-hint" aria-hidden>{keyName}</kbd></span>;
}
