import { expect, test } from "vitest";
import { formatDuration } from "./chart-section";

test("a time has its largest unit, and one decimal below ten of it", () => {
  expect([0, 1, 9.96, 42, 90, 700, 7_200, 200_000].map((seconds) => formatDuration(seconds, "en"))).toEqual(
    ["0 sec", "1 sec", "10 sec", "42 sec", "1.5 min", "12 min", "2 hr", "2.3 days"],
  );
  expect(formatDuration(null, "en")).toBe("–");
});

test("the marks of an axis of less than a second differ", () => {
  const marks = [0, 0.002, 0.01, 0.02, 0.1, 0.3, 0.30000000000000004].map((seconds) => formatDuration(seconds, "en"));
  expect(marks).toEqual(["0 sec", "0.002 sec", "0.01 sec", "0.02 sec", "0.1 sec", "0.3 sec", "0.3 sec"]);
});
