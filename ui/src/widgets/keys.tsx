import { useEffect, useRef } from "react";

export interface Shortcut {
  /** As `KeyboardEvent.key`; `mod+k` is Ctrl or ⌘ with k, `g i` is g and then i. */
  key: string;
  label: string;
  run: () => void;
  /** Also while a text is typed, or only then. */
  whileTyping?: boolean | "only";
  /** Not again while the key is held down. */
  once?: boolean;
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

/** Enter and Space on a button or a link are its own click. */
function isClick({ key, target }: KeyboardEvent): boolean {
  return (key === "Enter" || key === " ") && target instanceof Element && target.closest("button, a[href], summary") !== null;
}

const nameOf = (event: KeyboardEvent) => `${event.metaKey || event.ctrlKey ? "mod+" : ""}${event.key}`;

let previousKey = { name: "", at: 0 };

/** What was pressed: the pair with the key before, when it was quick, and the key alone. */
function keyNames(event: KeyboardEvent): string[] {
  const name = nameOf(event);
  const pair = event.timeStamp - previousKey.at < 1_000 ? [`${previousKey.name} ${name}`] : [];
  previousKey = { name, at: event.timeStamp };
  return [...pair, name];
}

function shortcutFor(name: string, typing: boolean): Shortcut | undefined {
  return shortcutGroups().reverse().flatMap((group) => group.shortcuts)
    .find((shortcut) => shortcut.key === name && (typing ? shortcut.whileTyping : shortcut.whileTyping !== "only"));
}

/** A dialog has the keys for itself. */
const dialog = ".ant-modal-wrap:not([style*='display: none']), .ant-drawer-open";

function onKeyDown(event: KeyboardEvent): void {
  // An input method that composes a character sends keys that are not meant for the page.
  if (event.defaultPrevented || event.isComposing || event.altKey || isClick(event)) return;
  if (document.querySelector(dialog)) return;
  const typing = isTyping(event.target);
  const match = keyNames(event).map((name) => shortcutFor(name, typing)).find(Boolean);
  if (!match) return;
  event.preventDefault();
  if (event.repeat && match.once) return;
  match.run();
}

/** Let keys do something while mounted, and list them in the help. */
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
