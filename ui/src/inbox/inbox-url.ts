import { useMemo } from "react";
import type { Filters, Order, Tab } from "../api/lists";
import type { Kind, Priority, Tier } from "../api/types";
import { currentPath, go, requestPath, useSearch } from "../base/router";
import { usePreference } from "../base/browser";

export const tabs = ["pending", "mine", "done"] as const satisfies Tab[];
export const orders = ["urgent", "newest"] as const satisfies Order[];
export const kinds = ["approval", "form", "choice", "question", "finish", "learning"] as const satisfies Kind[];
export const priorities = ["urgent", "high", "normal", "low"] as const satisfies Priority[];
export const tiers = ["irreversible", "high", "medium", "low"] as const satisfies Tier[];

/** The filters whose values are any text. */
const texts = ["agent", "tool", "group", "q"] as const;

function oneOf<T extends string>(values: readonly T[], value: string | null | undefined): T | undefined {
  return values.find((each) => each === value);
}

/** Return the filters in a URL; unknown values are ignored. */
export function filtersIn(search: string, preferredOrder?: string): Filters {
  const query = new URLSearchParams(search);
  const choices = {
    kind: oneOf(kinds, query.get("kind")), priority: oneOf(priorities, query.get("priority")), tier: oneOf(tiers, query.get("tier")),
    ...Object.fromEntries(texts.map((name) => [name, query.get(name)?.trim()])),
  };
  const tab = oneOf(tabs, query.get("tab")) ?? "pending";
  const order = oneOf(orders, query.get("order")) ?? oneOf(orders, preferredOrder) ?? "urgent";
  return { tab, ...(tab !== "done" && { order }), ...Object.fromEntries(Object.entries(choices).filter(([, value]) => value)) };
}

export function searchOf({ tab, order, kind, priority, tier, agent, tool, group, q }: Filters): string {
  const values = { tab: tab !== "pending" && tab, order: order === "newest" && order, kind, priority, tier, agent, tool, group, q };
  const query = new URLSearchParams(Object.entries(values).flatMap(([name, value]) => (value ? [[name, value]] : [])));
  return query.size > 0 ? `?${query.toString()}` : "";
}

/** Return whether the list is narrowed. */
export const isFiltered = ({ kind, priority, tier, agent, tool, group, q }: Filters) => Boolean(kind ?? priority ?? tier ?? agent ?? tool ?? group ?? q);

export function useFilters(): Filters {
  const search = useSearch();
  const [order] = usePreference("order");
  return useMemo(() => filtersIn(search, order), [search, order]);
}

/** Change the filters of the list; an open request stays open. */
export function applyFilters(filters: Filters, step?: { replace: boolean }): void {
  go(currentPath() + searchOf(filters), step);
}

export const requestUrl = (id: string) => requestPath(id) + window.location.search;

const isRequestOpen = () => currentPath() !== "/";

/** Open a request. Moving from one request to the next adds no history entry, so Back leads to the list. */
export function openRequest(id: string): void {
  const state: unknown = isRequestOpen() ? window.history.state : "list";
  go(requestUrl(id), { replace: isRequestOpen() });
  window.history.replaceState(state, "");
}

/** Return to the list, with Back if the request was opened from there. */
export function closeRequest(): void {
  if (window.history.state === "list") window.history.back();
  else go(`/${window.location.search}`, { replace: true });
}
