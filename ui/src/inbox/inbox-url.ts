import { useMemo } from "react";
import type { Filters, Tab } from "../api/lists";
import type { Kind, Priority } from "../api/types";
import { currentPath } from "../widgets/base-path";
import { go, requestPath, useSearch } from "../widgets/router";

export const tabs = ["pending", "mine", "done"] as const satisfies Tab[];
export const kinds = ["approval", "form", "choice", "question", "finish", "learning"] as const satisfies Kind[];
export const priorities = ["urgent", "high", "normal", "low"] as const satisfies Priority[];

function oneOf<T extends string>(values: readonly T[], value: string | null): T | undefined {
  return values.find((each) => each === value);
}

/** Return the filters in a URL; unknown values are ignored. */
export function filtersIn(search: string): Filters {
  const query = new URLSearchParams(search);
  const filters: Filters = { tab: oneOf(tabs, query.get("tab")) ?? "pending" };
  const kind = oneOf(kinds, query.get("kind"));
  const priority = oneOf(priorities, query.get("priority"));
  const q = query.get("q")?.trim();
  return { ...filters, ...(kind && { kind }), ...(priority && { priority }), ...(q && { q }) };
}

export function searchOf({ tab, kind, priority, q }: Filters): string {
  const query = new URLSearchParams({
    ...(tab !== "pending" && { tab }), ...(kind && { kind }), ...(priority && { priority }), ...(q && { q }),
  });
  return query.size > 0 ? `?${query.toString()}` : "";
}

export function useFilters(): Filters {
  const search = useSearch();
  return useMemo(() => filtersIn(search), [search]);
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
