import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { aRequest, completedRequest } from "../testing/fake-server";
import { type Known, known } from "../testing/known";
import {
  compareUrgency, deadlineOf, horizonAt, nextChange, sectionOf, matchesFilters, isBefore, listPath, withRequest, withoutRequest,
  type Filters, type Pages,
} from "./lists";
import { dropRequest, cacheRequest, reapplyFeedUpdates } from "./requests";
import type { Request } from "./types";

const noon = Date.parse("2026-01-02T12:00:00Z");
const minute = 60_000;
const inMinutes = (minutes: number) => new Date(noon + minutes * minute).toISOString();
const horizon = horizonAt(noon);
const request = (id: string, changes: Known<Request>) => aRequest({ id, created_at: "2026-01-02T10:00:00Z", ...changes });

test("the deadline is the nearer of the time it is wanted by and its expiry", () => {
  expect(deadlineOf(request("r", { due_at: inMinutes(5), expires_at: inMinutes(2) }))).toBe(noon + 2 * minute);
  expect(deadlineOf(request("r", { due_at: inMinutes(5) }))).toBe(noon + 5 * minute);
  expect(deadlineOf(request("r", {}))).toBe(Number.POSITIVE_INFINITY);
});

test("a deadline of this moment is overdue, one in an hour is due soon", () => {
  const sections = [-1, 0, 1, 60, 61].map((minutes) => sectionOf(request("r", { due_at: inMinutes(minutes) }), horizon));
  expect(sections).toEqual(["overdue", "overdue", "soon", "soon", "rest"]);
});

test("a near deadline wins over everything, then priority, tier, novelty and age", () => {
  const sorted = [
    request("due first", { due_at: inMinutes(1), priority: "low" }), request("due next", { due_at: inMinutes(9), priority: "urgent" }),
    request("priority", { priority: "high", tier: "low" }), request("tier", { tier: "irreversible" }),
    request("first of its kind", { first_of_kind: true, created_at: "2026-01-02T11:00:00Z" }),
    request("older", { created_at: "2026-01-02T09:00:00Z" }), request("a", {}), request("b", { due_at: inMinutes(600) }),
    request("low", { priority: "low", tier: "irreversible", first_of_kind: true }),
  ];
  expect(sorted.toReversed().sort((one, other) => compareUrgency(one, other, horizon)).map(({ id }) => id)).toEqual(sorted.map(({ id }) => id));
});

test("the next change is when a request becomes due soon or overdue", () => {
  const all = [request("past", { due_at: inMinutes(-5) }), request("later", { due_at: inMinutes(70) }), request("never", {})];
  expect(nextChange(all, noon)).toBe(noon + 10 * minute);
  expect(nextChange(all, noon + 10 * minute)).toBe(noon + 70 * minute);
  expect(nextChange(all, noon + 70 * minute)).toBe(Number.POSITIVE_INFINITY);
});

const at = (number: number, changes: Known<Request> = {}) =>
  aRequest({ id: `r${number}`, created_at: `2026-01-02T10:00:${String(number).padStart(2, "0")}Z`, ...changes });
const page = (numbers: number[], next: string | null = null) => known<Pages["pages"][number]>({ items: numbers.map((number) => at(number)), next, asOf: 0 });
const pages = (...all: Pages["pages"]): Pages => ({ pages: all, pageParams: all.map(() => null) });
const ids = (found: Pages | undefined) => found?.pages.map(({ items }) => items.map(({ id }) => id));

function clientWith(lists: [Filters, Pages][], me = "ann"): QueryClient {
  const client = new QueryClient();
  client.setQueryData(["session"], { name: me });
  for (const [filters, data] of lists) client.setQueryData(["requests", filters], data);
  return client;
}

const listIn = (client: QueryClient, filters: Filters) => ids(client.getQueryData<Pages>(["requests", filters]));

test("a new request is put where its time belongs, on the page that covers it", () => {
  const loaded = pages(page([9, 7]), page([5, 3], "more"));
  expect(ids(withRequest(loaded, at(10)))).toEqual([["r10", "r9", "r7"], ["r5", "r3"]]);
  expect(ids(withRequest(loaded, at(8)))).toEqual([["r9", "r8", "r7"], ["r5", "r3"]]);
  expect(ids(withRequest(loaded, at(4)))).toEqual([["r9", "r7"], ["r5", "r4", "r3"]]);
});

test("what is older than the last loaded page comes with its own page, and with the last one at its end", () => {
  expect(ids(withRequest(pages(page([5, 3], "more")), at(1)))).toEqual([["r5", "r3"]]);
  expect(ids(withRequest(pages(page([5, 3])), at(1)))).toEqual([["r5", "r3", "r1"]]);
});

test("a known request is replaced in place, and never by an older version", () => {
  const loaded = withRequest(pages(page([5, 3])), at(3, { version: 4, title: "new" }));
  expect(loaded.pages[0]?.items[1]?.title).toBe("new");
  expect(withRequest(loaded, at(3, { version: 2 })).pages[0]?.items[1]?.version).toBe(4);
});

test("times are compared as times, whether they have a fraction or not", () => {
  const whole = aRequest({ id: "a", created_at: "2026-01-02T10:00:00Z" });
  const later = aRequest({ id: "a", created_at: "2026-01-02T10:00:00.000001Z" });
  const twin = aRequest({ id: "b", created_at: "2026-01-02T10:00:00Z" });
  expect([isBefore(later, whole), isBefore(whole, later), isBefore(twin, whole)]).toEqual([true, false, true]);
});

test("of two that have ended the later end comes first, and else the newer one", () => {
  const ended = (number: number, fraction: string) => at(number, { status: "completed", ended_at: `2026-01-03T10:00:00${fraction}Z` });
  expect(isBefore(ended(1, ".000001"), ended(5, ""))).toBe(true);
  expect(isBefore(ended(5, ""), ended(1, ".000001"))).toBe(false);
  expect([isBefore(ended(5, ""), ended(1, "")), isBefore(ended(1, ""), ended(5, ""))]).toEqual([true, false]);
  expect(isBefore(ended(1, ""), at(5))).toBe(false);
});

test.each<[string, Filters, Partial<Request>, boolean | "perhaps"]>([
  ["pending holds what is open", { tab: "pending" }, {}, true],
  ["pending lets go what ended", { tab: "pending" }, { status: "expired" }, false],
  ["mine holds what I claimed", { tab: "mine" }, { claimed_by: "ann" }, true],
  ["mine holds what is given to me", { tab: "mine" }, { assignee: "ann" }, true],
  ["mine lets go what somebody else claimed", { tab: "mine" }, { claimed_by: "bob" }, false],
  ["done holds what was cancelled", { tab: "done" }, { status: "cancelled" }, true],
  ["another kind does not belong", { tab: "pending", kind: "form" }, {}, false],
  ["no priority is a normal one", { tab: "pending", priority: "normal" }, { priority: null }, true],
  ["another priority does not belong", { tab: "pending", priority: "high" }, { priority: "low" }, false],
  ["what a search finds only the server knows", { tab: "pending", q: "refund" }, {}, "perhaps"],
  ["but what ended is in no search for what is open", { tab: "pending", q: "refund" }, { status: "completed" }, false],
])("%s", (_name, filters, changes, expected) => {
  expect(matchesFilters(aRequest(changes), filters, "ann")).toBe(expected);
});

test("the address of a list says all its filters", () => {
  const query = new URLSearchParams(listPath({ tab: "done", kind: "form", priority: "low", q: "返金" }, "c").split("?")[1]);
  expect(query.getAll("status")).toEqual(["completed", "cancelled", "expired"]);
  expect(Object.fromEntries(query)).toMatchObject({ kind: "form", priority: "low", q: "返金", cursor: "c", order: "ended" });
  expect(listPath({ tab: "pending" }, null)).not.toContain("order");
  expect(listPath({ tab: "mine", order: "urgent" }, null)).toContain("order=urgent");
});

test("one piece of news moves a request between all lists, to the top of what is done", () => {
  const done = { ...page([]), items: [at(4, { status: "expired", ended_at: "2026-01-02T11:00:00Z" })], next: "more" };
  const client = clientWith([[{ tab: "pending" }, pages(page([5, 3]))], [{ tab: "done" }, pages(done)]]);
  cacheRequest(client, completedRequest(at(3)));
  expect(listIn(client, { tab: "pending" })).toEqual([["r5"]]);
  expect(listIn(client, { tab: "done" })).toEqual([["r3", "r4"]]);
});

test("a request that may not be seen any more is in no list", () => {
  const client = clientWith([[{ tab: "pending" }, pages(page([5, 3]))]]);
  dropRequest(client, "r5");
  expect(listIn(client, { tab: "pending" })).toEqual([["r3"]]);
  expect(ids(withoutRequest(pages(page([5])), "r9"))).toEqual([["r5"]]);
});

test("what the feed told while a page was on its way is not lost with the page", async () => {
  const client = clientWith([]);
  const stop = reapplyFeedUpdates(client);
  const key = ["requests", { tab: "pending" } satisfies Filters];
  let arrive = (_found: Pages) => {};
  const asOf = Date.now();
  const fetching = client.fetchQuery({ queryKey: key, queryFn: () => new Promise<Pages>((resolve) => { arrive = resolve; }) });
  cacheRequest(client, at(9));
  cacheRequest(client, completedRequest(at(5)));
  arrive(pages({ ...page([5, 3]), asOf }));
  await fetching;
  await vi.waitFor(() => expect(listIn(client, { tab: "pending" })).toEqual([["r9", "r3"]]));
  stop();
});
