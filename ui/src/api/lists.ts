import type { InfiniteData } from "@tanstack/react-query";
import type { Kind, Page, Priority, Request, Tier } from "./types";
import { compareUrgency, horizonAt, sortableTime, type Horizon } from "./urgency";

export type Tab = "pending" | "mine" | "done";
export type Order = "urgent" | "newest";

/** The filters of a list; they are also its cache key. */
export interface Filters {
  tab: Tab;
  kind?: Kind | undefined;
  priority?: Priority | undefined;
  tier?: Tier | undefined;
  agent?: string | undefined;
  tool?: string | undefined;
  group?: string | undefined;
  q?: string | undefined;
  order?: Order | undefined;
  /** True for the most urgent requests of a long list, which are loaded again from time to time. */
  head?: boolean;
  /** The thread, or the session of a client, whose requests are listed. */
  thread?: string;
}

/** One page of a list with the time of its request; later events of the feed are newer. */
export type ListPage = Page<Request> & { asOf: number };
export type Pages = InfiniteData<ListPage, string | null>;

const statuses: Record<Tab, Request["status"][]> = {
  pending: ["pending"], mine: ["pending"], done: ["completed", "cancelled", "expired"],
};

export const isUrgentFirst = ({ tab, order }: Filters) => order === "urgent" && tab !== "done";

function queryOf({ tab, kind, priority, tier, agent, tool, group, q, thread }: Filters): URLSearchParams {
  const values = { mine: tab === "mine" && "true", kind, priority, tier, agent, tool, group, q, thread_id: thread };
  return new URLSearchParams(Object.entries(values).flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

export function listPath(filters: Filters, cursor: string | null): string {
  const query = queryOf(filters);
  for (const status of statuses[filters.tab]) query.append("status", status);
  if (filters.tab === "done") query.set("order", "ended");
  else if (isUrgentFirst(filters)) query.set("order", "urgent");
  query.set("limit", "100");
  if (cursor) query.set("cursor", cursor);
  return `/v1/requests?${query.toString()}`;
}

/** Return the path of the totals of the pending requests in a list. */
export const totalsPath = (filters: Filters) => `/v1/requests/totals?${queryOf(filters).toString()}`;

/** Return whether a request belongs to a list; only the server can decide about a search. */
export function matchesFilters(request: Request, filters: Filters, me: string | undefined): boolean | "perhaps" {
  const { tab, kind, priority, tier, agent, tool, group, q, thread } = filters;
  if (!statuses[tab].includes(request.status)) return false;
  if (tab === "mine" && request.claimed_by !== me && request.assignee !== me) return false;
  const differs = (wanted: string | undefined, found: string | null | undefined) => wanted !== undefined && wanted !== found;
  if (differs(thread, request.thread_id) || differs(kind, request.kind) || differs(priority, request.priority ?? "normal")) return false;
  if (differs(tier, request.tier ?? "low") || differs(agent, request.agent) || differs(tool, request.action?.name)) return false;
  if (group !== undefined && !request.candidate_groups.includes(group)) return false;
  return q ? "perhaps" : true;
}

/** Return whether one request comes before the other: the latest end first, or the newest first while one is pending. */
export function isBefore(one: Request, other: Request): boolean {
  if (one.ended_at && other.ended_at && one.ended_at !== other.ended_at) return sortableTime(one.ended_at) > sortableTime(other.ended_at);
  const [a, b] = [sortableTime(one.created_at), sortableTime(other.created_at)];
  return a === b ? one.id > other.id : a > b;
}

type IsBefore = typeof isBefore;

export const moreUrgentThan = (horizon: Horizon): IsBefore => (one, other) => compareUrgency(one, other, horizon) < 0;

/** Return the horizon by which the server sorted a list; null for a list in another order. */
export function horizonOf(filters: Filters, pages: Pages): Horizon | null {
  const first = pages.pages[0];
  if (!first || !isUrgentFirst(filters)) return null;
  return first.now && first.due_soon_until ? horizonAt(Date.parse(first.now), Date.parse(first.due_soon_until)) : horizonAt(first.asOf);
}

export function newerVersion(old: Request | undefined, request: Request): Request {
  return old && old.version > request.version ? old : request;
}

export function includesRequest(pages: Pages, id: string): boolean {
  return pages.pages.some((page) => page.items.some((item) => item.id === id));
}

function withItems(pages: Pages, at: number, items: Request[]): Pages {
  return { ...pages, pages: pages.pages.map((page, index) => (index === at ? { ...page, items } : page)) };
}

/** Insert or update a request; beyond the last loaded page it is left out and loaded later. */
export function withRequest(pages: Pages, request: Request, comesBefore: IsBefore = isBefore): Pages {
  const knownPage = pages.pages.findIndex((page) => page.items.some((item) => item.id === request.id));
  if (knownPage >= 0) {
    const items = pages.pages[knownPage]?.items ?? [];
    return withItems(pages, knownPage, items.map((item) => (item.id === request.id ? newerVersion(item, request) : item)));
  }
  const last = pages.pages.length - 1;
  const pageIndex = pages.pages.findIndex((page) => page.items.some((item) => comesBefore(request, item)));
  if (pageIndex < 0 && pages.pages[last]?.next) return pages;
  const at = pageIndex < 0 ? last : pageIndex;
  const items = pages.pages[at]?.items ?? [];
  const before = items.findIndex((item) => comesBefore(request, item));
  return withItems(pages, at, items.toSpliced(before < 0 ? items.length : before, 0, request));
}

export function withoutRequest(pages: Pages, id: string): Pages {
  const at = pages.pages.findIndex((page) => page.items.some((item) => item.id === id));
  return at < 0 ? pages : withItems(pages, at, (pages.pages[at]?.items ?? []).filter((item) => item.id !== id));
}
