import { Button } from "antd";
import { useMemo, useRef, type ReactNode } from "react";
import { useStrings } from "../strings";
import { useKeys } from "../base/keys";
import { OpenDisclosures } from "../widgets/disclosure";
import { TimelineItem } from "./timeline-item";
import type { Item } from "./stream";
import { useFollow } from "./use-follow";
import { useRowKeys } from "./use-row-keys";
import { useRows } from "./use-rows";

interface ThreadTimelineProps {
  items: Item[];
  /** Open requests; they stay mounted out of view so that typed text is kept. */
  openRequests: ReadonlySet<string>;
  /** Content below the newest item. */
  children: ReactNode;
}

/** Return the time shown above a row; dividers have their own time. */
function timeBefore(items: Item[], index: number): number | null {
  const before = items[index - 1];
  return before && !["run", "end", "pause"].includes(before.kind) ? before.at : null;
}

/** The items of a thread; the end stays in view while the reader is there. */
export function ThreadTimeline({ items, openRequests, children }: ThreadTimelineProps) {
  const strings = useStrings();
  const list = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const openDisclosures = useMemo(() => new Set<string>(), []);
  const { at, shortcuts } = useRowKeys({ list, keys: items.map(({ key }) => key), show: (index) => rows.scrollToIndex(index) });
  const rows = useRows(list, items, (item) => item.key === at || (item.kind === "pause" && item.requests.some((id) => openRequests.has(id))));
  const { newCount, toEnd } = useFollow(list, end, items.length);
  const visibleRows = rows.getVirtualItems();
  useKeys(strings.timeline, [...shortcuts, { key: "G", label: strings.goToNewest, run: toEnd }]);
  return (
    <OpenDisclosures value={openDisclosures}>
      <div
        ref={list} className="thread-items" role="feed" aria-label={strings.timeline} data-testid="thread-items"
        aria-busy={visibleRows.length === 0} style={{ height: Math.max(0, rows.getTotalSize()) }}
      >
        {visibleRows.map(({ index, key, start }) => {
          const item = items[index];
          return item && (
            <article
              key={key} ref={rows.measureElement} className="thread-row" tabIndex={-1}
              aria-posinset={index + 1} aria-setsize={items.length} aria-label={strings.entryKinds[item.kind]}
              data-index={index} data-key={item.key}
              style={{ transform: `translateY(${start - rows.options.scrollMargin}px)` }}
            >
              <TimelineItem item={item} before={timeBefore(items, index)} />
            </article>
          );
        })}
      </div>
      {children}
      <div ref={end} />
      {newCount > 0 && (
        <div className="thread-new">
          <Button type="primary" shape="round" onClick={toEnd} data-testid="new-below">{strings.newItemsBelow(newCount)}</Button>
        </div>
      )}
    </OpenDisclosures>
  );
}
