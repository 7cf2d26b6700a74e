/** A button label with its keyboard shortcut. */
export function KeyLabel({ label, keyName }: { label: string; keyName: string }) {
  return <span>{label}<kbd className="key-hint" aria-hidden>{keyName}</kbd></span>;
}
