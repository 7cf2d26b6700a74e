import type { InfiniteData } from "@tanstack/react-query";
import type { Kind, Page, Priority, Request } from "./types";

export type Tab = "pending" | "mine" | "done";

/** The filters of a list; they are also its cache key. */
export interface Filters {
  tab: Tab;
  kind?: Kind | undefined;
  priority?: Priority | undefined;
  q?: string | undefined;
  /** The thread, or the session of a client, whose requests are listed. */
  thread?: string;
}

/** One page of a list with the time of its request; later events of the feed are newer. */
export type ListPage = Page<Request> & { asOf: number };
export type Pages = InfiniteData<ListPage, string | null>;

const statuses: Record<Tab, Request["status"][]> = {
  pending: ["pending"], mine: ["pending"], done: ["completed", "cancelled", "expired"],
};

export function listPath({ tab, kind, priority, q, thread }: Filters, cursor: string | null): string {
  const query = new URLSearchParams({ limit: "100" });
  for (const status of statuses[tab]) query.append("status", status);
  if (tab === "mine") query.set("mine", "true");
  if (kind) query.set("kind", kind);
  if (priority) query.set("priority", priority);
  if (q) query.set("q", q);
  if (thread) query.set("thread_id", thread);
  if (cursor) query.set("cursor", cursor);
  return `/v1/requests?${query.toString()}`;
}

/** Return whether a request belongs to a list; only the server can decide about a search. */
export function matchesFilters(request: Request, { tab, kind, priority, q, thread }: Filters, me: string | undefined): boolean | "perhaps" {
  if (!statuses[tab].includes(request.status)) return false;
  if (tab === "mine" && request.claimed_by !== me && request.assignee !== me) return false;
  if (thread && request.thread_id !== thread) return false;
  if (kind && request.kind !== kind) return false;
  if (priority && (request.priority ?? "normal") !== priority) return false;
  return q ? "perhaps" : true;
}

/** Convert a time to sortable text: the server leaves out a zero fraction. */
function sortable(at: string): string {
  const [seconds = "", fraction = ""] = at.replace("Z", "").split(".");
  return `${seconds}.${fraction.padEnd(6, "0")}`;
}

/** Return whether one request comes before the other: newest first, as the server sorts. */
export function isBefore(one: Request, other: Request): boolean {
  const [a, b] = [sortable(one.created_at), sortable(other.created_at)];
  return a === b ? one.id > other.id : a > b;
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
export function withRequest(pages: Pages, request: Request): Pages {
  const knownPage = pages.pages.findIndex((page) => page.items.some((item) => item.id === request.id));
  if (knownPage >= 0) {
    const items = pages.pages[knownPage]?.items ?? [];
    return withItems(pages, knownPage, items.map((item) => (item.id === request.id ? newerVersion(item, request) : item)));
  }
  const last = pages.pages.length - 1;
  const pageIndex = pages.pages.findIndex((page) => page.items.some((item) => isBefore(request, item)));
  if (pageIndex < 0 && pages.pages[last]?.next) return pages;
  const at = pageIndex < 0 ? last : pageIndex;
  const items = pages.pages[at]?.items ?? [];
  const before = items.findIndex((item) => isBefore(request, item));
  return withItems(pages, at, items.toSpliced(before < 0 ? items.length : before, 0, request));
}

export function withoutRequest(pages: Pages, id: string): Pages {
  const at = pages.pages.findIndex((page) => page.items.some((item) => item.id === id));
  return at < 0 ? pages : withItems(pages, at, (pages.pages[at]?.items ?? []).filter((item) => item.id !== id));
}
