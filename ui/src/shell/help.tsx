import { Modal } from "antd";
import { Fragment, useId } from "react";
import keys from "../../../src/ringi/base/keys.json";
import { shortcutGroups } from "../base/keys";
import { useApplicationPages } from "../request/applications";
import { useStrings } from "../strings";
import type { Language } from "../strings/language";
import { KeyCaps } from "./key-caps";

type Area = keyof typeof keys;

/** The areas of the table of keys that each page has. */
const areasOfPage: Record<string, Area[]> = {
  inbox: ["list", "request", "field"],
  threads: ["threads", "thread", "request", "field"],
  chat: ["chat", "request", "field"],
  memory: ["memory"],
  grants: ["grants"],
  operations: ["operations"],
};

/** Return the rows of an area that the page binds; those of everywhere only if this person has the page that they open. */
function rowsOf(area: Area) {
  const bound = new Set(shortcutGroups().flatMap(({ shortcuts }) => shortcuts.map(({ key }) => key)));
  const isForAll = area !== "everywhere";
  return keys[area].filter(({ page }) => page.some((key) => isForAll || bound.has(key)));
}

/** The keyboard help from the table that page and terminal share: this page first, the keys of everywhere last. */
export default function Help({ page, onClose }: { page: string; onClose: () => void }) {
  const strings = useStrings();
  const id = useId();
  const own = useApplicationPages().find(({ name }) => name === page);
  const areas = areasOfPage[page] ?? own?.keyAreas ?? [];
  return (
    <Modal open title={strings.keyboard} onCancel={onClose} footer={null} width={960} className="help-sheet" data-testid="help">
      <div className="help">
        {[...areas, "everywhere" as const].map((area) => (
          <section key={area} aria-labelledby={`${id}-${area}`} data-area={area}>
            <h3 id={`${id}-${area}`}>{area === "everywhere" ? strings.everywhere : strings.keyAreas[area]}</h3>
            <dl>
              {rowsOf(area).map(({ id: row, page: names, label }) => (
                <Fragment key={row}>
                  <dt>{names.map((name) => <KeyCaps key={name} shortcut={name} />)}</dt><dd>{label[strings.language as Language]}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
