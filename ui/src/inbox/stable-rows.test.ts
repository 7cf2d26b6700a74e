import { expect, test } from "vitest";
import type { Request } from "../api/types";
import { aRequest, completedRequest } from "../testing/fake-server";
import { horizonAt } from "../api/lists";
import {
  countOf, entryAt, headingHeight, indexAt, layoutOf, placeOf, topOf, keepAnchor, positionAt, scrollTopFor, scrollTopToReveal,
} from "./layout";
import { mergeRows, newlyDue, nextPending, resetRows, dropFinished, type RowState } from "./stable-rows";

const at = (number: number) => aRequest({ id: `r${number}`, created_at: `2026-01-02T10:00:${String(number).padStart(2, "0")}Z` });
const all = (...numbers: number[]) => numbers.map(at);
const nothingMore = () => undefined;
const shape = ({ rows, newRequests }: RowState) => [
  rows.map(({ request, isOutdated }) => (isOutdated ? `(${request.id})` : request.id)).join(" "), newRequests.map(({ id }) => id).join(" "),
];

test("the first reply is shown unchanged", () => {
  expect(shape(mergeRows(resetRows([]), all(3, 2, 1), nothingMore))).toEqual(["r3 r2 r1", ""]);
});

test("new ones wait beside the list, and older pages are added below it", () => {
  const state = mergeRows(resetRows(all(3, 2)), all(5, 4, 3, 2, 1), nothingMore);
  expect(shape(state)).toEqual(["r3 r2 r1", "r5 r4"]);
});

test("one that belongs in the middle waits too: it would move what stands below", () => {
  expect(shape(mergeRows(resetRows(all(5, 1)), all(5, 3, 1), nothingMore))).toEqual(["r5 r1", "r3"]);
});

test("what ended stays where it was, with its outcome", () => {
  const done = completedRequest(at(2));
  const state = mergeRows(resetRows(all(3, 2, 1)), all(3, 1), (id) => (id === "r2" ? done : undefined));
  expect(shape(state)).toEqual(["r3 (r2) r1", ""]);
  expect(state.rows[1]?.request).toBe(done);
});

test("what came and ended before anybody looked is not offered", () => {
  const gathered = mergeRows(resetRows(all(1)), all(2, 1), nothingMore);
  expect(shape(mergeRows(gathered, all(1), nothingMore))).toEqual(["r1", ""]);
});

test("one that comes back takes its old place", () => {
  const gone = mergeRows(resetRows(all(3, 2)), all(3), nothingMore);
  expect(shape(mergeRows(gone, all(3, 2), nothingMore))).toEqual(["r3 r2", ""]);
});

test("rows that did not change stay the same objects, so that they are not drawn again", () => {
  const before = resetRows(all(2, 1));
  const requests = before.rows.map(({ request }) => request);
  expect(mergeRows(before, requests, nothingMore).rows).toEqual(before.rows);
  expect(mergeRows(before, requests, nothingMore).rows[0]).toBe(before.rows[0]);
});

test("after a decision the dead rows leave, what is new goes on waiting", () => {
  const state = mergeRows(resetRows(all(4, 3, 2)), all(5, 4, 2), nothingMore);
  expect(shape(dropFinished(state, "r4"))).toEqual(["r2", "r5"]);
});

test("the next to open is the one below, past the dead, else the one above", () => {
  const { rows } = mergeRows(resetRows(all(4, 3, 2, 1)), all(4, 2, 1), nothingMore);
  expect(nextPending(rows, at(4))?.id).toBe("r2");
  expect(nextPending(rows, at(1))?.id).toBe("r2");
  expect(nextPending(resetRows(all(1)).rows, at(1))).toBeUndefined();
});

test("a request that the list does not have is followed by one of its agent and tool, else by the first", () => {
  const call = (id: string, name: string, agent = "bot") => aRequest({ id, agent, digest: id, action: { name, args: {} } });
  const { rows } = resetRows([call("r1", "pay"), call("r2", "read", "other"), call("r3", "read"), call("r4", "read")]);
  expect(nextPending(rows, call("elsewhere", "read"))?.id).toBe("r3");
  expect(nextPending(rows, call("elsewhere", "write"))?.id).toBe("r1");
});

test("equal requests in one row are followed by the next row, whichever of them was decided", () => {
  const call = (id: string, digest: string) => aRequest({ id, digest, agent: "bot", action: { name: "read", args: {} } });
  const { rows } = resetRows([call("r1", "a"), call("r2", "b"), call("r3", "b"), call("r4", "c")]);
  expect(rows.map(({ others }) => others.length)).toEqual([0, 1, 0]);
  expect(nextPending(rows, call("r3", "b"))?.id).toBe("r4");
});

const rowHeight = 64;
const rows = (...requests: Request[]) => layoutOf(resetRows(requests).rows, rowHeight);
const many = rows(...all(9, 8, 7, 6, 5, 4, 3, 2, 1));

test("a place is found again by its row, wherever that stands now", () => {
  const place = positionAt(many, 2 * rowHeight + 10);
  expect(place).toEqual({ id: "r7", index: 2, offset: 10 });
  expect(place && scrollTopFor(place, rows(...all(12, 11, 10, 9, 8, 7)), true)).toBe(5 * rowHeight + 10);
});

test("a place that is not loaded yet is waited for; one whose row is gone keeps its number", () => {
  const place = { id: "gone", index: 3, offset: 10 };
  expect(scrollTopFor(place, many, false)).toBeUndefined();
  expect(scrollTopFor(place, many, true)).toBe(3 * rowHeight);
});

test("what stands on screen stays there when rows above it come or go", () => {
  const scrolled = 4 * rowHeight + 20;
  expect(keepAnchor(many, rows(...all(11, 10, 9, 8, 7, 6, 5, 4)), scrolled)).toBe(scrolled + 2 * rowHeight);
  expect(keepAnchor(many, rows(...all(9, 7, 4, 3, 2, 1)), scrolled)).toBe(scrolled - 3 * rowHeight);
  expect(keepAnchor(many, rows(...all(8, 7)), 0)).toBe(0);
});

test("a row is scrolled into view from either side, and one that is seen moves nothing", () => {
  const height = 3.5 * rowHeight;
  expect(scrollTopToReveal(many, 2, 5 * rowHeight, height)).toBe(2 * rowHeight);
  expect(scrollTopToReveal(rows(...all(...Array.from({ length: 12 }, (_, n) => 30 - n))), 9, 5 * rowHeight, height)).toBe(6.5 * rowHeight);
  expect(scrollTopToReveal(many, 6, 5 * rowHeight, height)).toBe(5 * rowHeight);
});

const noon = Date.parse("2026-01-02T12:00:00Z");
const due = (id: string, minutes: number, changes = {}) => aRequest({ id, due_at: new Date(noon + minutes * 60_000).toISOString(), ...changes });
const five = [due("late", -1), due("soon", 30), due("tomorrow", 1_500), aRequest({ id: "risky", tier: "high" }), aRequest({ id: "plain" })];

test("urgent rows stand in sections: overdue, due soon, the rest", () => {
  const { rows: placed } = resetRows(five.toReversed(), horizonAt(noon));
  expect(placed.map(({ request, section }) => `${section} ${request.id}`)).toEqual([
    "overdue late", "soon soon", "rest risky", "rest plain", "rest tomorrow",
  ]);
});

test("what becomes due while one looks waits to be shown, and moves nothing before", () => {
  const state = resetRows(five, horizonAt(noon));
  const later = horizonAt(noon + 31 * 60_000);
  expect(newlyDue(state, horizonAt(noon + 60_000))).toEqual([]);
  expect(newlyDue(state, later).map(({ id }) => id)).toEqual(["soon"]);
  const merged = mergeRows(state, [...five, due("new", 40), due("low", 3_000, { priority: "low" })], nothingMore);
  expect(shape(merged)).toEqual(["late soon risky plain tomorrow low", "new"]);
  const placed = { ...state, placedAt: noon };
  const fresh = aRequest({ id: "fresh", created_at: new Date(noon + 1_000).toISOString(), priority: "low" });
  expect(shape(mergeRows(placed, [...five, fresh], nothingMore))).toEqual(["late soon risky plain tomorrow", "fresh"]);
});

test("headings stand between the rows, and places count them", () => {
  const layout = layoutOf(resetRows(five, horizonAt(noon)).rows, rowHeight);
  expect(layout.starts).toEqual([1, 2]);
  expect([0, 1, 2, 3].map((row) => topOf(layout, row))).toEqual([0, rowHeight + headingHeight, 2 * (rowHeight + headingHeight), 3 * rowHeight + 2 * headingHeight]);
  expect([0, 1, 2, 3, 4, 5].map((place) => entryAt(layout, place))).toEqual([
    { row: 0 }, { heading: "soon" }, { row: 1 }, { heading: "rest" }, { row: 2 }, { row: 3 },
  ]);
  for (const row of [0, 1, 2, 3, 4]) {
    expect(entryAt(layout, placeOf(layout, row))).toEqual({ row });
    expect(indexAt(layout, topOf(layout, row) + 10)).toBe(row);
  }
  expect(countOf(layout, "rest", true)).toEqual({ count: 3, isPartial: true });
  expect(countOf(layout, "soon", true)).toEqual({ count: 1, isPartial: false });
});
