import { beforeEach, expect, test, vi } from "vitest";

let module: typeof import("./call");

beforeEach(async () => {
  vi.resetModules();
  module = await import("./call");
});

const base = Date.parse("2026-11-26T10:00:00Z");
const header = (at: number) => new Date(at).toUTCString();

test("clocks that may agree are taken to agree", () => {
  module.noteServerTime(header(base), base + 400, base + 900);
  expect(module.clockDifference()).toBe(0);
});

test("a clock that is a minute late is corrected to within the accuracy of the header", () => {
  module.noteServerTime(header(base + 60_000), base, base + 50);
  expect(module.clockDifference()).toBe(59_950);
  module.noteServerTime(header(base + 61_000), base + 1_700, base + 1_750);
  expect(module.clockDifference()).toBe(59_950);
});

test("a clock that is early is corrected too, and one that was set since", () => {
  module.noteServerTime(header(base - 30_000), base, base + 10);
  expect(module.clockDifference()).toBe(-28_000);
  module.noteServerTime(header(base), base, base + 10);
  expect(module.clockDifference()).toBe(0);
});

test("a reply without a date changes nothing", () => {
  module.noteServerTime(null, base, base);
  module.noteServerTime("soon", base, base);
  expect(module.clockDifference()).toBe(0);
});
