import { Modal } from "antd";
import { Fragment } from "react";
import { useStrings } from "../strings";
import { shortcutGroups, type Shortcut } from "../widgets/keys";

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
const signs: Record<string, string> = {
  mod: isApple ? "⌘" : "Ctrl", Enter: "⏎", Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓", " ": "␣",
};

/** `mod+k` is two caps side by side, `g i` two one after the other. */
const caps = (key: string) => (key === " " ? [key] : key.split(/[ ]|(?<=.)\+(?=.)/u));

function Keys({ of }: { of: Shortcut }) {
  return <span className="help-keys">{caps(of.key).map((cap) => <kbd key={cap}>{signs[cap] ?? cap}</kbd>)}</span>;
}

/** What the keys do now under each title; several parts of a page may have one title, and the newest wins a key. */
function byTitle(): [string, Shortcut[]][] {
  const titles = new Map<string, Map<string, Shortcut>>();
  for (const { title, shortcuts } of shortcutGroups()) {
    const keys = titles.get(title) ?? new Map<string, Shortcut>();
    for (const shortcut of shortcuts) keys.set(shortcut.key, shortcut);
    if (keys.size > 0) titles.set(title, keys);
  }
  return Array.from(titles, ([title, keys]) => [title, [...keys.values()]]);
}

/** What each key does here and now. */
export default function Help({ onClose }: { onClose: () => void }) {
  const strings = useStrings();
  return (
    <Modal open title={strings.keyboard} onCancel={onClose} footer={null} width={560} data-testid="help">
      <div className="help">
        {byTitle().map(([title, shortcuts]) => (
          <section key={title} aria-label={title}>
            <h3>{title}</h3>
            <dl>
              {shortcuts.map((shortcut) => (
                <Fragment key={shortcut.key}><dt><Keys of={shortcut} /></dt><dd>{shortcut.label}</dd></Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
