import { expect, test } from "vitest";
import { aRequest } from "../testing/fake-server";
import type { Known } from "../testing/known";
import type { Request } from "./types";
import { compareUrgency, deadlineOf, horizonAt, nextChange, sectionOf } from "./urgency";

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
