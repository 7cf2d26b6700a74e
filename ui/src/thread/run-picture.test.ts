import { expect, test } from "vitest";
import { draw, spansOf } from "./run-picture";
import type { StreamEvent } from "./stream";

const numbered = (events: StreamEvent[]) => events.map((event, index) => ({ number: index + 1, event }));
const run = numbered([
  { type: "RUN_STARTED", timestamp: 1_000 },
  { type: "TEXT_MESSAGE_START", messageId: "m", timestamp: 1_100 },
  { type: "TEXT_MESSAGE_END", messageId: "m", timestamp: 2_000 },
  { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "refund", timestamp: 2_100 },
  { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [] }, timestamp: 2_200 },
  { type: "RUN_STARTED", timestamp: 3_602_200 },
  { type: "TOOL_CALL_RESULT", toolCallId: "c", timestamp: 3_603_200 },
  { type: "STEP_STARTED", stepName: "report", timestamp: 3_603_300 },
  { type: "RUN_FINISHED", timestamp: 3_604_300 },
]);

test("a person's wait is a bar of its own, and an end of the run ends what is open", () => {
  expect(spansOf(run).map(({ kind, name, start, end }) => [kind, name, start, end])).toEqual([
    ["message", "", 1_100, 2_000], ["tool", "refund", 2_100, 3_603_200], ["wait", "", 2_200, 3_602_200], ["step", "report", 3_603_300, 3_604_300],
  ]);
});

test("what goes on has no end, and events without a time are left out", () => {
  expect(spansOf(run.slice(0, 5)).map(({ kind, end }) => [kind, end])).toEqual([["message", 2_000], ["tool", null], ["wait", null]]);
  expect(spansOf(numbered([{ type: "STEP_STARTED", stepName: "x" }]))).toEqual([]);
});

test("a long wait is shortened on the axis, and bars stay in order and in one piece", () => {
  const { drawn, isShortened } = draw(spansOf(run), 9_999_999);
  expect(isShortened).toBe(true);
  for (const { from, to } of drawn) expect(to).toBeGreaterThan(from);
  const wait = drawn.find(({ span }) => span.kind === "wait");
  const step = drawn.find(({ span }) => span.kind === "step");
  expect(wait && step && wait.to <= step.from).toBe(true);
  expect(draw([{ key: 1, kind: "wait", name: "", start: 0, end: 500 }], 0)).toEqual({ drawn: [{ span: expect.anything(), from: 0, to: 0.5 }], isShortened: false });
});
