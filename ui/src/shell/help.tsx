import { Modal } from "antd";
import { Fragment } from "react";
import { useStrings } from "../strings";
import { shortcutGroups, type ShortcutGroup } from "../widgets/keys";

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
const keySymbols: Record<string, string> = {
  mod: isApple ? "⌘" : "Ctrl", Shift: isApple ? "⇧" : "Shift",
  Enter: "⏎", Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓", " ": "␣",
};

/** Return the key caps of a shortcut: `mod+k` is a combination, `g i` a sequence, `X` is Shift and x. */
function keyCaps(key: string): string[] {
  if (/^\p{Lu}$/u.test(key)) return ["Shift", key.toLowerCase()];
  return key === " " ? [key] : key.split(/ |(?<=.)\+(?=.)/u);
}

function Keys({ keys }: { keys: string[] }) {
  return (
    <>
      {keys.map((key) => (
        <span key={key} className="help-keys">{keyCaps(key).map((cap) => <kbd key={cap}>{keySymbols[cap] ?? cap}</kbd>)}</span>
      ))}
    </>
  );
}

type Lines = Map<string, string[]>;

/** Group the shortcuts by title; several parts of a page may share a title. */
function linesByTitle(last: string): [string, Lines][] {
  const titles = new Map<string, Lines>();
  const isLast = ({ title }: ShortcutGroup) => Number(title === last);
  for (const { title, shortcuts } of shortcutGroups().toSorted((one, other) => isLast(one) - isLast(other))) {
    const lines: Lines = titles.get(title) ?? new Map();
    for (const { key, label } of shortcuts) lines.set(label, [...new Set([...(lines.get(label) ?? []), key])]);
    if (lines.size > 0) titles.set(title, lines);
  }
  return [...titles];
}

/** The keyboard help: the current page's shortcuts first, the global ones last. */
export default function Help({ onClose }: { onClose: () => void }) {
  const strings = useStrings();
  return (
    <Modal open title={strings.keyboard} onCancel={onClose} footer={null} width={720} data-testid="help">
      <div className="help">
        {linesByTitle(strings.everywhere).map(([title, lines]) => (
          <section key={title} aria-label={title}>
            <h3>{title}</h3>
            <dl>
              {Array.from(lines, ([label, keys]) => (
                <Fragment key={label}><dt><Keys keys={keys} /></dt><dd>{label}</dd></Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
