import { modKey } from "../base/keys";

const keySymbols: Record<string, string> = {
  mod: modKey, Shift: modKey === "⌘" ? "⇧" : "Shift",
  Enter: "⏎", Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓", " ": "␣",
};

/** Return the key caps of a shortcut: `mod+k` is a combination, `g i` a sequence, `X` is Shift and x. */
function keyCaps(key: string): string[] {
  if (/^\p{Lu}$/u.test(key)) return ["Shift", key.toLowerCase()];
  return key === " " ? [key] : key.split(/ |(?<=.)\+(?=.)/u);
}

/** The keys of a shortcut as caps. */
export const KeyCaps = ({ shortcut }: { shortcut: string }) => (
  <span className="help-keys">{keyCaps(shortcut).map((cap) => <kbd key={cap}>{keySymbols[cap] ?? cap}</kbd>)}</span>
);
