import { expect, test } from "vitest";
import { emptyStream, reduce, type Numbered, type StreamEvent } from "./reduce";

function numbered(first: number, ...events: StreamEvent[]): Numbered[] {
  return events.map((event, index) => ({ number: first + index, event }));
}

const firstRun = numbered(1,
  { type: "RUN_STARTED", threadId: "t", runId: "1" },
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Look" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "ing" },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "r1" }, { id: "r2" }] } },
);

const secondRun = numbered(7,
  { type: "RUN_STARTED", threadId: "t", runId: "2" },
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Refunded" },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  { type: "RUN_FINISHED", outcome: { type: "success" } },
);

const numbers = (state: { events: Numbered[] }) => state.events.map(({ number }) => number);
const texts = (state: { items: { kind: string; text?: string }[] }) =>
  state.items.filter((item) => item.kind === "message").map((item) => item.text);

test("deltas of a message are joined in order", () => {
  expect(texts(reduce(emptyStream, firstRun))).toEqual(["Looking"]);
});

test("the same batch twice changes nothing", () => {
  const once = reduce(emptyStream, firstRun);
  expect(reduce(once, firstRun)).toBe(once);
});

test("a reconnect that repeats the last events shows each once and in order", () => {
  const torn = reduce(emptyStream, firstRun.slice(0, 4));
  const resumed = reduce(torn, firstRun.slice(2));
  expect(numbers(resumed)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(texts(resumed)).toEqual(["Looking"]);
  expect(resumed).toEqual(reduce(emptyStream, firstRun));
});

test("a gap in the numbering is no reason to stop", () => {
  expect(numbers(reduce(reduce(emptyStream, firstRun), numbered(40, { type: "RUN_STARTED" })))).toEqual([1, 2, 3, 4, 5, 6, 40]);
});

test("an event without a number is not shown", () => {
  expect(reduce(emptyStream, [{ number: Number.NaN, event: { type: "RUN_STARTED" } }])).toBe(emptyStream);
});

test("a pause stands where it came and names every open request", () => {
  const paused = reduce(emptyStream, firstRun);
  expect(paused.phase).toBe("interrupted");
  expect(paused.items.at(-1)).toMatchObject({ kind: "pause", requests: ["r1", "r2"] });
});

test("a question that is still open after another was answered stands once", () => {
  const again = numbered(7,
    { type: "RUN_STARTED", threadId: "t", runId: "1.1" },
    { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "r2" }] } },
  );
  const paused = reduce(reduce(emptyStream, firstRun), again);
  expect(paused.items.flatMap((item) => (item.kind === "pause" ? item.requests : []))).toEqual(["r1", "r2"]);
  expect(paused.phase).toBe("interrupted");
});

test("a second run is appended and its re-used message id does not touch the first run", () => {
  const done = reduce(reduce(emptyStream, firstRun), secondRun);
  expect(texts(done)).toEqual(["Looking", "Refunded"]);
  expect(done.phase).toBe("done");
  expect(done.items.map((item) => item.kind)).toEqual(["run", "message", "pause", "run", "message", "end"]);
});

test("a tool call gathers its arguments and its result", () => {
  const state = reduce(emptyStream, numbered(1,
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "find" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"order":' },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "7}" },
    { type: "TOOL_CALL_END", toolCallId: "c" },
    { type: "TOOL_CALL_RESULT", toolCallId: "c", content: "late" },
  ));
  expect(state.items).toEqual([{ key: 1, kind: "tool", id: "c", name: "find", args: '{"order":7}', result: "late", open: false }]);
});

test("an error ends the run and keeps its message", () => {
  const state = reduce(emptyStream, numbered(1, { type: "RUN_STARTED" }, { type: "RUN_ERROR", message: "no such order" }));
  expect([state.phase, state.items.at(-1)]).toEqual(["error", { key: 2, kind: "error", message: "no such order" }]);
});

test("an unknown event is kept among the raw ones and shown nowhere else", () => {
  const state = reduce(emptyStream, numbered(1, { type: "SOMETHING_NEW" }));
  expect([numbers(state), state.items]).toEqual([[1], []]);
});
