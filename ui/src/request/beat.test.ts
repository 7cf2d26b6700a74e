import { beforeEach, expect, test, vi } from "vitest";
import type { Decision, Request } from "../api/types";
import { aRequest } from "../testing/fake-server";
import type { Known } from "../testing/known";
import { Beat } from "./beat";

let now = 1_000;
let count = 0;
let beat = new Beat();

beforeEach(() => {
  beat = new Beat();
  vi.spyOn(performance, "now").mockImplementation(() => now);
});

const refund = (changes: Known<Request> = {}) =>
  aRequest({ id: `r${count += 1}`, agent: "shop", action: { name: "refund", args: {} }, ...changes });
const press = (request: Request, decision: Decision = "approve") => beat.mayDecide(request, decision);

/** Show a request, wait, and answer it by a key. */
function answer(request: Request, decision: Decision = "approve"): boolean {
  beat.show(request);
  now += 600;
  const isSent = press(request, decision);
  if (isSent) beat.record(request, decision);
  return isSent;
}

const answerMany = (times: number, decision: Decision = "approve") => Array.from({ length: times }, () => answer(refund(), decision));

test.each([
  ["tool", { action: { name: "drop", args: {} } }], ["agent", { agent: "other" }], ["tier", { tier: "medium" }],
] as const)("keys within half a second after another %s appears decide nothing", (_name, changes) => {
  answer(refund());
  const other = refund(changes);
  beat.show(other);
  for (const [wait, isSettled] of [[0, false], [499, false], [1, true]] as const) {
    now += wait;
    expect([press(other), press(other, "reject"), beat.isSettled(other)]).toEqual([isSettled, isSettled, isSettled]);
  }
});

test("the same kind goes on at once, and the first request of a visit waits for nobody", () => {
  const [first, second] = [refund(), refund()];
  beat.show(first);
  expect(press(first)).toBe(true);
  beat.record(first, "approve");
  beat.show(second);
  expect(press(second)).toBe(true);
});

test("after five equal answers the first key on another kind only asks", () => {
  expect(answerMany(5)).toEqual([true, true, true, true, true]);
  const other = refund({ tier: "medium" });
  expect(answer(other)).toBe(false);
  expect(beat.armedFor(other.id)).toBe("approve");
  now += 499;
  expect(press(other)).toBe(false);
  now += 500;
  expect(press(other)).toBe(true);
  beat.record(other, "approve");
  expect(answer(refund())).toBe(true);
});

test("four answers, another decision or a click are no habit, and a rejection is never asked twice", () => {
  const others = { action: { name: "drop", args: {} } };
  answerMany(4);
  expect(answer(refund(others))).toBe(true);
  beat = new Beat();
  answerMany(5);
  expect(answer(refund(others), "edit")).toBe(true);
  beat = new Beat();
  answerMany(7, "reject");
  expect(answer(refund(others), "reject")).toBe(true);
  beat = new Beat();
  answerMany(5);
  beat.record(refund(), "approve");
  expect(answer(refund(others))).toBe(true);
});

test("what waits for a second key is forgotten with the request", () => {
  answerMany(5);
  const [one, other] = [refund({ tier: "medium" }), refund({ tier: "medium" })];
  expect(answer(one)).toBe(false);
  beat.show(other);
  now += 600;
  expect([beat.armedFor(one.id), press(other)]).toEqual([null, false]);
});
