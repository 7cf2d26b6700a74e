import { type InputRef, Button, Segmented } from "antd";
// Imported alone: the full Input would also load text areas and passwords.
import Input from "antd/es/input/Input";
import { useEffect, useRef, useState, type KeyboardEvent, type Ref, Suspense, type RefObject } from "react";
import type { Filters, Tab } from "../api/lists";
import { useCounts } from "../api/requests";
import type { Request } from "../api/types";
import { lazyWithRetry } from "../base/browser";
import { useStrings } from "../strings";
import { applyFilters, searchOf, tabs } from "./inbox-url";
import { savePosition } from "./layout";
import type { InboxState, ListActions } from "./use-inbox";

const pause = 250;

/** Put the typed text into the URL after a pause, but not while an input method is composing. */
function useSearchText({ q = "", ...rest }: Filters): [string, (text: string, composing: boolean) => void] {
  const [text, setText] = useState(q);
  const [lastQuery, setLastQuery] = useState(q);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  if (lastQuery !== q) {
    setLastQuery(q);
    // The URL wins after Back or another list; while one types, it follows.
    if (q !== text.trim()) setText(q);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (newText: string, composing: boolean) => {
    setText(newText);
    clearTimeout(timer.current);
    if (composing) return;
    const term = newText.trim();
    timer.current = setTimeout(() => applyFilters({ ...rest, ...(term && { q: term }) }, { replace: true }), newText ? pause : 0);
  };
  return [text, type];
}

interface SearchBoxProps {
  filters: Filters;
  input: Ref<InputRef>;
  onLeave: () => void;
}

function SearchBox({ filters, input, onLeave }: SearchBoxProps) {
  const strings = useStrings();
  const [text, type] = useSearchText(filters);
  const composing = useRef(false);
  const leave = (event: KeyboardEvent) => {
    if (!["Escape", "Enter", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    onLeave();
  };
  return (
    <Input
      ref={input} type="search" className="inbox-search" allowClear value={text} maxLength={200} data-testid="search"
      aria-label={strings.search} placeholder={strings.search} prefix={<span aria-hidden="true">⌕</span>} suffix={<kbd hidden={text !== ""}>/</kbd>}
      onChange={(event) => type(event.target.value, composing.current)} onKeyDown={leave}
      onCompositionStart={() => {
        composing.current = true;
      }}
      onCompositionEnd={(event) => {
        composing.current = false;
        type(event.currentTarget.value, false);
      }}
    />
  );
}

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
