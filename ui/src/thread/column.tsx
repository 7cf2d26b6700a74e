import { Button } from "antd";
import { useMemo, useRef, type ReactNode } from "react";
import { useStrings } from "../strings";
import { useKeys } from "../widgets/keys";
import { Unfolded } from "./fold";
import { ThreadItem } from "./item";
import type { Item } from "./stream";
import { useFollow } from "./use-follow";
import { useRowKeys } from "./use-row-keys";
import { useRows } from "./use-rows";

interface ColumnProps {
  items: Item[];
  /** Requests that are still open: what somebody types into them is kept while they are out of view. */
  open: ReadonlySet<string>;
  /** What stands below the newest item. */
  children: ReactNode;
}

/** The time that stands last above a row; a border's does not stand in the same column. */
function timeBefore(items: Item[], index: number): number | null {
  const before = items[index - 1];
  return before && !["run", "end", "pause"].includes(before.kind) ? before.at : null;
}

/** All that a thread has said and done, its end in view while the reader is there. */
export function Column({ items, open, children }: ColumnProps) {
  const strings = useStrings();
  const list = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const unfolded = useMemo(() => new Set<string>(), []);
  const { at, shortcuts } = useRowKeys({ list, keys: items.map(({ key }) => key), show: (index) => rows.scrollToIndex(index) });
  const rows = useRows(list, items, (item) => item.key === at || (item.kind === "pause" && item.requests.some((id) => open.has(id))));
  const { behind, toEnd } = useFollow(list, end, items.length);
  const shown = rows.getVirtualItems();
  useKeys(strings.entries, [...shortcuts, { key: "G", label: strings.toNewest, run: toEnd }]);
  return (
    <Unfolded value={unfolded}>
      <div
        ref={list} className="thread-items" role="feed" aria-label={strings.entries} data-testid="thread-items"
        aria-busy={shown.length === 0} style={{ height: Math.max(0, rows.getTotalSize()) }}
      >
        {shown.map(({ index, key, start }) => {
          const item = items[index];
          return item && (
            <article
              key={key} ref={rows.measureElement} className="thread-row" tabIndex={-1}
              aria-posinset={index + 1} aria-setsize={items.length} aria-label={strings.entryKinds[item.kind]}
              data-index={index} data-key={item.key}
              style={{ transform: `translateY(${start - rows.options.scrollMargin}px)` }}
            >
              <ThreadItem item={item} before={timeBefore(items, index)} />
            </article>
          );
        })}
      </div>
      {children}
      <div ref={end} />
      {behind > 0 && (
        <div className="thread-new">
          <Button type="primary" shape="round" onClick={toEnd} data-testid="new-below">{strings.newBelow(behind)}</Button>
        </div>
      )}
    </Unfolded>
  );
}
