import type { InfiniteData } from "@tanstack/react-query";
import type { Request, Kind, Page, Priority, Tier } from "./types";

/** The part of a list that is sorted by urgency. */
export type Section = "overdue" | "soon" | "rest";

/** The times that separate the sections, in milliseconds. */
export interface Horizon {
  now: number;
  soonUntil: number;
}

export const horizonAt = (now: number, soonUntil = now + 3_600_000): Horizon => ({ now, soonUntil });

/** The sort keys of a request; they do not depend on the time. */
interface SortKeys {
  deadline: number;
  rank: number;
  created: string;
}

const priorities = ["urgent", "high", "normal", "low"];
const tiers = ["irreversible", "high", "medium", "low"];
const sortKeys = new WeakMap<Request, SortKeys>();

/** Convert a time to sortable text: the server leaves out a zero fraction. */
function sortableTime(at: string): string {
  const [seconds = "", fraction = ""] = at.replace("Z", "").split(".");
  return `${seconds}.${fraction.padEnd(6, "0")}`;
}

/** Return the nearer of due time and expiry, in milliseconds; infinite without both. */
export function deadlineOf({ due_at: due, expires_at: expires }: Request): number {
  return Math.min(...[due, expires].map((at) => (at ? Date.parse(at) : Number.POSITIVE_INFINITY)));
}

function keysOf(request: Request): SortKeys {
  const cached = sortKeys.get(request);
  if (cached) return cached;
  const { priority, tier, first_of_kind: isFirst, created_at: createdAt } = request;
  const rank = priorities.indexOf(priority ?? "normal") * 8 + tiers.indexOf(tier ?? "low") * 2 + (isFirst ? 0 : 1);
  const keys = { deadline: deadlineOf(request), rank, created: sortableTime(createdAt) };
  sortKeys.set(request, keys);
  return keys;
}

export function sectionOf(request: Request, { now, soonUntil }: Horizon): Section {
  const { deadline } = keysOf(request);
  if (deadline <= now) return "overdue";
  return deadline <= soonUntil ? "soon" : "rest";
}

/** Compare as the server sorts: by deadline if that is near, else by priority, tier, novelty and age. */
export function compareUrgency(one: Request, other: Request, { soonUntil }: Horizon): number {
  const [a, b] = [keysOf(one), keysOf(other)];
  const [isDue, isOtherDue] = [a.deadline <= soonUntil, b.deadline <= soonUntil];
  if (isDue !== isOtherDue) return isDue ? -1 : 1;
  const first = isDue ? a.deadline - b.deadline : a.rank - b.rank;
  if (first !== 0) return first;
  if (a.created !== b.created) return a.created < b.created ? -1 : 1;
  return one.id < other.id ? -1 : Number(one.id > other.id);
}

/** Return the next time at which one of the requests changes its section; infinite if none does. */
export function nextChange(requests: readonly Request[], now: number): number {
  const soon = horizonAt(0).soonUntil;
  return requests.reduce((next, request) => {
    const { deadline } = keysOf(request);
    return Math.min(next, ...[deadline - soon, deadline].filter((at) => at > now));
  }, Number.POSITIVE_INFINITY);
}

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
  if (group !== undefined && !request.groups.includes(group)) return false;
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
