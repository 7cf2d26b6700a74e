import type { Request } from "./types";

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
export function sortableTime(at: string): string {
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
