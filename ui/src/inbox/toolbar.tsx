import { Button, Segmented, type InputRef } from "antd";
import { Suspense, type RefObject } from "react";
import { useCounts } from "../api/counts";
import type { Filters, Tab } from "../api/lists";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { lazyWithRetry } from "../base/lazy";
import { applyFilters, searchOf, tabs } from "./inbox-url";
import { savePosition } from "./scroll-position";
import { SearchBox } from "./search-box";
import type { ListActions } from "./use-list-actions";
import type { InboxState } from "./use-inbox";

const none: Request[] = [];
const FilterMenus = lazyWithRetry(() => import("./filter-menus"));

function choose(filters: Filters): void {
  // Choosing a list starts at its top; Back and reload restore the scroll position.
  savePosition(searchOf(filters), undefined);
  applyFilters(filters);
}

function Tabs({ filters }: { filters: Filters }) {
  const strings = useStrings();
  const counts = useCounts();
  const label = (tab: Tab) => {
    const count = tab === "done" ? undefined : counts?.[tab];
    return <span data-testid={`tab-${tab}`}>{strings.tabs[tab]}{count && count !== "0" && <span className="inbox-count inbox-tab-count"> {count}</span>}</span>;
  };
  return (
    <Segmented<Tab>
      block aria-label={strings.show} value={filters.tab} options={tabs.map((tab) => ({ value: tab, label: label(tab) }))}
      onChange={(tab) => choose({ ...filters, tab })}
    />
  );
}

/** The button that shows new requests; its line is always there, so that no row moves. */
function NewRequestsButton({ inbox, actions }: { inbox: InboxState; actions: ListActions }) {
  const strings = useStrings();
  const { waiting } = inbox.view;
  return (
    <output className="inbox-new">
      {waiting > 0 && (
        <Button size="small" type="primary" shape="round" onClick={actions.showNew} data-testid="show-new">↑ {strings.newRequestCount(String(waiting))}</Button>
      )}
    </output>
  );
}

interface ToolbarProps {
  inbox: InboxState;
  actions: ListActions;
  search: RefObject<InputRef | null>;
  isIdle: boolean;
}

export function Toolbar({ inbox, actions, search, isIdle }: ToolbarProps) {
  const { filters } = inbox;
  return (
    <div className="inbox-tools">
      <Tabs filters={filters} />
      <SearchBox filters={filters} input={search} onLeave={() => actions.move(0)} />
      <div className="inbox-filters">
        <Suspense fallback={null}>{isIdle && <FilterMenus filters={filters} requests={inbox.view.listed ?? none} />}</Suspense>
        <NewRequestsButton inbox={inbox} actions={actions} />
      </div>
    </div>
  );
}
