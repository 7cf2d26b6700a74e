import { beforeEach, expect, test, vi } from "vitest";

let clock: typeof import("./server-clock");

beforeEach(async () => {
  vi.resetModules();
  clock = await import("./server-clock");
});

const base = Date.parse("2026-11-26T10:00:00Z");
const header = (at: number) => new Date(at).toUTCString();

test("clocks that may agree are taken to agree", () => {
  clock.noteServerTime(header(base), base + 400, base + 900);
  expect(clock.clockDifference()).toBe(0);
});

test("a clock that is a minute late is corrected to within the accuracy of the header", () => {
  clock.noteServerTime(header(base + 60_000), base, base + 50);
  expect(clock.clockDifference()).toBe(59_950);
  clock.noteServerTime(header(base + 61_000), base + 1_700, base + 1_750);
  expect(clock.clockDifference()).toBe(59_950);
});

test("a clock that is early is corrected too, and one that was set since", () => {
  clock.noteServerTime(header(base - 30_000), base, base + 10);
  expect(clock.clockDifference()).toBe(-28_000);
  clock.noteServerTime(header(base), base, base + 10);
  expect(clock.clockDifference()).toBe(0);
});

test("a reply without a date changes nothing", () => {
  clock.noteServerTime(null, base, base);
  clock.noteServerTime("soon", base, base);
  expect(clock.clockDifference()).toBe(0);
});
