/** The key that makes combinations on this machine. */
export const modKey = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

/** A button label with its keyboard shortcut. */
export function KeyLabel({ label, keyName }: { label: string; keyName: string }) {
  return <span>{label}<kbd className="key-hint" aria-hidden>{keyName}</kbd></span>;
}
