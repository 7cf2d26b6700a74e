import { Modal } from "antd";
import { Fragment, useId } from "react";
import keys from "../../../src/ringi/base/keys.json";
import { shortcutGroups } from "../base/keys";
import { useStrings } from "../strings";
import type { Language } from "../strings/language";
import { KeyCaps } from "./key-caps";

type Area = keyof typeof keys;

/** The areas of the table of keys that each page has. */
const areasOfPage: Record<PageName, Area[]> = {
  inbox: ["list", "request", "field"],
  threads: ["threads", "thread", "request", "field"],
  chat: ["chat", "request", "field"],
  learning: ["learning", "request"],
  memory: ["memory"],
  grants: ["grants"],
  overview: [],
  operations: ["operations"],
  none: [],
};

/** Return the rows of an area that the page binds; those of everywhere only if this person has the page that they open. */
function rowsOf(area: Area) {
  const bound = new Set(shortcutGroups().flatMap(({ shortcuts }) => shortcuts.map(({ key }) => key)));
  const isForAll = area !== "everywhere";
  return keys[area].filter(({ page }) => page.some((key) => isForAll || bound.has(key)));
}

/** The keyboard help from the table that page and terminal share: this page first, the keys of everywhere last. */
export default function Help({ page, onClose }: { page: PageName; onClose: () => void }) {
  const strings = useStrings();
  const id = useId();
  return (
    <Modal open title={strings.keyboard} onCancel={onClose} footer={null} width={960} className="help-sheet" data-testid="help">
      <div className="help">
        {[...areasOfPage[page], "everywhere" as const].map((area) => (
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

export type PageName = "inbox" | "threads" | "chat" | "learning" | "memory" | "grants" | "overview" | "operations" | "none";
