import { Modal } from "antd";
import { Fragment } from "react";
import { useStrings } from "../strings";
import { KeyCaps } from "./key-caps";
import { shortcutGroups, type ShortcutGroup } from "../widgets/keys";

function Keys({ keys }: { keys: string[] }) {
  return (
    <>
      {keys.map((key) => <KeyCaps key={key} shortcut={key} />)}
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
