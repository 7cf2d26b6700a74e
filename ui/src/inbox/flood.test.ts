import { expect, test } from "vitest";
import { aRequest } from "../testing/fake-server";
import type { Known } from "../testing/known";
import type { Request } from "../api/types";
import { horizonAt } from "../api/lists";
import { dropFinished, mergeRows, openBundle, resetRows } from "./stable-rows";

const noon = Date.parse("2026-01-02T12:00:00Z");
const horizon = horizonAt(noon);
const grouping = { now: noon, opened: new Set<string>() };

/** A call of a minute before noon; `arg` makes it differ from the others. */
const call = (id: string, arg: number, changes: Known<Request> = {}) => aRequest({
  id, created_at: `2026-01-02T11:59:00.${id.replace(/\D/g, "").padStart(6, "0")}Z`, agent: "bot", digest: `sha256:${arg}`, ...changes,
  action: { name: "refund", args: { order: arg } },
});
const many = (count: number, of: (n: number) => Request) => Array.from({ length: count }, (_, n) => of(n));
const sizes = (rows: readonly { request: Request; others: readonly Request[] }[]) => rows.map(({ request, others }) => `${request.id}+${others.length}`);

test("a thousand equal requests are one row, and those that come later join it", () => {
  const equal = many(1_000, (n) => call(`r${n}`, 1));
  const state = resetRows(equal, horizon, grouping);
  expect(sizes(state.rows)).toEqual(["r0+999"]);
  expect(state.rows[0]?.bundle).toBe("equal");
  const more = mergeRows(state, [...equal, call("r1000", 1), call("r1001", 2)], () => undefined);
  expect(sizes(more.rows)).toEqual(["r0+1000", "r1001+0"]);
  expect(more.newRequests).toEqual([]);
});

test.each<[string, Known<Request>]>([
  ["of high tier", { tier: "high" }], ["that cannot be undone", { tier: "irreversible" }], ["of another agent", { agent: "other" }],
  ["for other people", { groups: ["sales"] }], ["that show something else", { digest: "sha256:other" }],
  ["that several people decide", { quorum: [{ count: 2 }] }], ["with a form", { form: { fields: [] } }], ["that can be undone for a while", { hold: 5 }],
])("requests %s are never answered together with others", (_name, changes) => {
  expect(resetRows([call("r1", 1), call("r2", 1, changes)], horizon).rows).toHaveLength(2);
});

test("twins of high tier stand one by one", () => {
  expect(resetRows(many(40, (n) => call(`r${n}`, 1, { tier: "high" })), horizon, grouping).rows).toHaveLength(40);
});

test("above thirty an hour the routine requests of a tool are one row, and what matters stays in sight", () => {
  const routine = many(31, (n) => call(`r${n}`, n));
  expect(resetRows(routine.slice(1), horizon, grouping).rows).toHaveLength(30);
  const grave = [
    call("r90", 90, { tier: "irreversible" }), call("r91", 91, { first_of_kind: true }), call("r92", 92, { priority: "high" }),
    call("r93", 93, { due_at: "2026-01-02T12:05:00Z" }), call("r94", 94, { policy: { rule: "r", digest: "d", card: true }, context: { card: { above_limit: true } } }),
    call("r95", 95, { created_at: "2026-01-02T09:00:00Z" }),
  ];
  const state = resetRows([...routine, ...grave], horizon, grouping);
  expect(sizes(state.rows)).toEqual(["r93+0", "r92+0", "r90+0", "r91+0", "r95+0", "r0+30", "r94+0"]);
  expect(sizes(mergeRows(state, [...routine, ...grave, call("r50", 50)], () => undefined).rows)[5]).toBe("r0+31");
});

test("a flood that comes with the next page is bundled too", () => {
  const page = many(20, (n) => call(`r${n}`, n));
  const state = resetRows(page, horizon, grouping);
  expect(state.rows).toHaveLength(20);
  const merged = mergeRows(state, [...page, ...many(15, (n) => call(`r${n + 20}`, n + 20))], () => undefined, grouping);
  expect(sizes(merged.rows).slice(20)).toEqual(["r20+14"]);
});

test("a bundle opens in place, and stays open", () => {
  const routine = many(31, (n) => call(`r${n}`, n));
  const state = resetRows(routine, horizon, grouping);
  expect(openBundle(state, "r0").rows).toHaveLength(31);
  expect(resetRows(routine, horizon, { now: noon, opened: new Set(['["bot","refund"]']) }).rows).toHaveLength(31);
  expect(resetRows(routine, horizon, null).rows).toHaveLength(31);
});

test("when the first of a row is decided, the next one stands for the rest", () => {
  const equal = many(3, (n) => call(`r${n}`, 1));
  const state = resetRows(equal, horizon);
  expect(sizes(dropFinished(state, "r0").rows)).toEqual(["r1+1"]);
  expect(sizes(mergeRows(state, equal.slice(2), () => undefined).rows)).toEqual(["r2+0"]);
  const ended = mergeRows(state, [], () => undefined);
  expect(ended.rows.map(({ isOutdated, request }) => [isOutdated, request.id])).toEqual([[true, "r0"]]);
});
