import { Button, Popover, Select, Switch, Tag } from "antd";
import { useId, useMemo, useState, type KeyboardEvent } from "react";
import type { Filters, Order } from "../api/lists";
import type { Request } from "../api/types";
import { usePreference } from "../base/browser";
import { visible } from "../base/visible";
import { useStrings } from "../strings";
import { applyFilters, isFiltered, kinds, orders, priorities, tiers } from "./inbox-url";

const sorted = (values: Iterable<string | null | undefined>) => [...new Set(values)].filter((value) => typeof value === "string").sort();

/** Return the agents, tools and groups of requests. */
const valuesOf = (requests: readonly Request[]) => ({
  agents: sorted(requests.map(({ agent }) => agent)),
  tools: sorted(requests.map(({ action }) => action?.name)),
  groups: sorted(requests.flatMap(({ groups }) => groups)),
});

/** Return how often each tool is asked about, the most frequent first; the chosen one is always there. */
function countTools(requests: readonly Request[], chosen: string | undefined): [string, number][] {
  const counts = new Map<string, number>(chosen === undefined ? [] : [[chosen, 0]]);
  for (const { action } of requests) if (action) counts.set(action.name, (counts.get(action.name) ?? 0) + 1);
  return [...counts].sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
}

/** Return how many filters are set besides the search. */
const activeFilters = ({ kind, priority, tier, agent, tool, group }: Filters) =>
  [kind, priority, tier, agent, tool, group].filter(Boolean).length;

const mostChips = 12;

interface FilterSelectProps {
  name: keyof Filters;
  label: string;
  filters: Filters;
  /** The values with their names. */
  options: { value: string; label: string }[];
  /** True if any text is a value. */
  isOpenEnded?: boolean;
}

function FilterSelect({ name, label, filters, options, isOpenEnded = false }: FilterSelectProps) {
  const strings = useStrings();
  const id = useId();
  const [typed, setTyped] = useState("");
  const isNew = typed !== "" && !options.some(({ value }) => value === typed);
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <Select<string>
        id={id} size="small" allowClear placeholder={strings.anyValue} data-testid={`filter-${name}`} popupMatchSelectWidth={false}
        {...(isOpenEnded && { showSearch: { onSearch: (text: string) => setTyped(text.trim()) } })}
        value={filters[name] as string | undefined} options={isNew ? [...options, { value: typed, label: visible(typed) }] : options}
        onChange={(value: string | undefined) => applyFilters({ ...filters, [name]: value })}
      />
    </>
  );
}

interface FilterMenusProps {
  filters: Filters;
  /** The loaded requests, from which the agents, tools and groups are known. */
  requests: readonly Request[];
}

function OrderChoice({ filters }: { filters: Filters }) {
  const strings = useStrings();
  const id = useId();
  const [, saveOrder] = usePreference("order");
  const choose = (order: Order) => {
    saveOrder(order);
    applyFilters({ ...filters, order });
  };
  return (
    <>
      <label htmlFor={id}>{strings.order}</label>
      <Select<Order>
        id={id} size="small" value={filters.order ?? "urgent"} data-testid="order" onChange={choose}
        options={orders.map((order) => ({ value: order, label: strings.orders[order] }))}
      />
    </>
  );
}

function BundleSwitch() {
  const strings = useStrings();
  const id = useId();
  const [bundles, saveBundles] = usePreference("bundles");
  return (
    <>
      <label htmlFor={id}>{strings.bundleFloods}</label>
      <Switch id={id} size="small" checked={bundles !== "off"} onChange={(isOn) => saveBundles(isOn ? "on" : "off")} data-testid="bundle-floods" />
    </>
  );
}

function FilterForm({ filters, requests }: FilterMenusProps) {
  const strings = useStrings();
  const named = <T extends string>(values: readonly T[], names: Record<T, string>) => values.map((value) => ({ value, label: names[value] }));
  const found = useMemo(() => valuesOf(requests), [requests]);
  const texts = (values: string[]) => values.map((value) => ({ value, label: visible(value) }));
  return (
    <div className="filter-form" data-testid="filter-form">
      {filters.tab !== "done" && <OrderChoice filters={filters} />}
      <FilterSelect name="kind" label={strings.kindFilter} filters={filters} options={named(kinds, strings.kinds)} />
      <FilterSelect name="priority" label={strings.priorityFilter} filters={filters} options={named(priorities, strings.priorities)} />
      <FilterSelect name="tier" label={strings.tierFilter} filters={filters} options={named(tiers, strings.tierNames)} />
      <FilterSelect name="agent" label={strings.agentFilter} filters={filters} options={texts(found.agents)} isOpenEnded />
      <FilterSelect name="tool" label={strings.toolFilter} filters={filters} options={texts(found.tools)} isOpenEnded />
      <FilterSelect name="group" label={strings.groupFilter} filters={filters} options={texts(found.groups)} isOpenEnded />
      {filters.tab !== "done" && <BundleSwitch />}
      {isFiltered(filters) && <Button size="small" onClick={() => applyFilters({ tab: filters.tab, order: filters.order })}>{strings.clearFilters}</Button>}
    </div>
  );
}

/** One chip for each tool of the list: a press shows only its requests, another one all. */
function ToolChips({ filters, requests }: FilterMenusProps) {
  const strings = useStrings();
  const counts = useMemo(() => countTools(requests, filters.tool), [requests, filters.tool]);
  if (counts.length < 2 && !filters.tool) return <span className="tool-chips" />;
  return (
    <fieldset className="tool-chips" aria-label={strings.toolsWaiting}>
      {counts.slice(0, mostChips).map(([tool, count]) => (
        <Tag.CheckableTag
          key={tool} checked={filters.tool === tool} data-testid="tool-chip" data-tool={tool}
          onChange={(isChosen) => applyFilters({ ...filters, tool: isChosen ? tool : undefined })}
        >
          <span className="tool-name" title={visible(tool)}>{visible(tool)}</span> <span className="inbox-count">{count}</span>
        </Tag.CheckableTag>
      ))}
    </fieldset>
  );
}

/** Narrow and sort the list. */
export default function FilterMenus(props: FilterMenusProps) {
  const strings = useStrings();
  const [isOpen, setOpen] = useState(false);
  const count = activeFilters(props.filters);
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    setOpen(false);
  };
  return (
    <>
      <span role="presentation" onKeyDown={close}>
        <Popover
          open={isOpen} onOpenChange={setOpen} trigger="click" placement="bottomLeft" arrow={false} destroyOnHidden
          content={<FilterForm {...props} />} getPopupContainer={(button) => button.parentElement ?? document.body}
        >
          <Button size="small" type={count > 0 ? "primary" : "default"} ghost={count > 0} aria-expanded={isOpen} data-testid="open-filters">
            {count > 0 ? strings.filterCount(count) : strings.filter}
          </Button>
        </Popover>
      </span>
      <ToolChips {...props} />
    </>
  );
}
