import { act, screen } from "@testing-library/react";
import { expect, test, afterEach, beforeEach, vi } from "vitest";
import type { Json } from "../api/types";
import { FakeEventSource, show } from "../testing/fake-server";
import { reduce, emptyStream, type NumberedEvent, type StreamEvent, useStream } from "./stream";

function numbered(first: number, ...events: StreamEvent[]): NumberedEvent[] {
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

const numbers = (state: { events: NumberedEvent[] }) => state.events.map(({ number }) => number);
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
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "find", timestamp: 1_000 },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"order":' },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "7}" },
    { type: "TOOL_CALL_END", toolCallId: "c" },
    { type: "TOOL_CALL_RESULT", toolCallId: "c", content: "late", timestamp: 3_500 },
  ));
  expect(state.items).toEqual([
    { key: 1, at: 1_000, kind: "tool", id: "c", name: "find", args: '{"order":7}', result: "late", open: false, until: 3_500 },
  ]);
});

test("a result that comes before its call belongs to it all the same", () => {
  const state = reduce(emptyStream, numbered(1,
    { type: "TOOL_CALL_RESULT", toolCallId: "c", content: "late" },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "find" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{}" },
    { type: "TOOL_CALL_END", toolCallId: "c" },
  ));
  expect(state.items).toMatchObject([{ kind: "tool", name: "find", args: "{}", result: "late", open: false }]);
});

test("the same call in a later run is another one", () => {
  const call = [{ type: "RUN_STARTED" }, { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "find" }, { type: "TOOL_CALL_RESULT", toolCallId: "c" }];
  const state = reduce(emptyStream, numbered(1, ...call, { type: "RUN_FINISHED", outcome: { type: "success" } }, ...call));
  expect(state.items.filter(({ kind }) => kind === "tool")).toHaveLength(2);
});

test("what has not ended with its run is not shown as going on", () => {
  const state = reduce(emptyStream, numbered(1,
    { type: "RUN_STARTED" }, { type: "STEP_STARTED", stepName: "s" }, { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "find" },
    { type: "TOOL_CALL_END", toolCallId: "c" }, { type: "RUN_ERROR", message: "no", timestamp: 9 },
  ));
  expect(state.items).toMatchObject([{ kind: "run" }, { kind: "step", open: false }, { kind: "tool", result: null, until: 9 }, { kind: "error" }]);
});

test("a call that waits for a person goes on after the pause", () => {
  const state = reduce(emptyStream, numbered(1,
    { type: "RUN_STARTED" }, { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "find" }, { type: "TOOL_CALL_END", toolCallId: "c" },
    { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "r" }] } }, { type: "RUN_STARTED" },
    { type: "TOOL_CALL_RESULT", toolCallId: "c", content: "done" },
  ));
  expect(state.items).toMatchObject([{ kind: "run" }, { kind: "tool", result: "done" }, { kind: "pause" }, { kind: "run" }]);
});

test("an error ends the run and keeps its message", () => {
  const state = reduce(emptyStream, numbered(1, { type: "RUN_STARTED" }, { type: "RUN_ERROR", message: "no such order" }));
  expect([state.phase, state.items.at(-1)]).toEqual(["error", { key: 2, at: null, kind: "error", message: "no such order" }]);
});

test("an unknown event is kept among the raw ones and shown nowhere else", () => {
  const state = reduce(emptyStream, numbered(1, { type: "SOMETHING_NEW" }));
  expect([numbers(state), state.items]).toEqual([[1], []]);
});

test("a stretch says whether it is new input, an answer or another try", () => {
  const state = reduce(emptyStream, [
    ...firstRun,
    ...numbered(7, { type: "RUN_STARTED" }, { type: "RUN_ERROR", message: "no" }, { type: "RUN_STARTED" },
      { type: "RUN_FINISHED", outcome: { type: "success" } }, { type: "RUN_STARTED" }),
  ]);
  expect(state.items.flatMap((item) => (item.kind === "run" ? item.reason : []))).toEqual(["started", "answered", "retried", "started"]);
});

test("a run took as long as from its own start, pauses included", () => {
  const state = reduce(emptyStream, numbered(1,
    { type: "RUN_STARTED", timestamp: 1_000 },
    { type: "RUN_FINISHED", timestamp: 2_000, outcome: { type: "interrupt", interrupts: [{ id: "r" }] } },
    { type: "RUN_STARTED", timestamp: 60_000 },
    { type: "RUN_FINISHED", timestamp: 61_000, outcome: { type: "success" } },
  ));
  expect(state.items.at(-1)).toEqual({ key: 4, at: 61_000, kind: "end", cancelled: false, since: 1_000 });
});

test("what the agent shows of its state is the newest snapshot", () => {
  const state = reduce(emptyStream, numbered(1,
    { type: "STATE_SNAPSHOT", snapshot: { order: 1 } }, { type: "STATE_SNAPSHOT", snapshot: { order: 1, outcome: "paid" } },
  ));
  expect(state.values).toEqual({ order: 1, outcome: "paid" });
});

test("an event of the agent's own keeps its name and its value", () => {
  const state = reduce(emptyStream, numbered(1, { type: "CUSTOM", name: "progress", value: { done: 3 } }));
  expect(state.items).toEqual([{ key: 1, at: null, kind: "custom", name: "progress", value: { done: 3 } }]);
});

test("a type that names a property of every object is unknown like any other", () => {
  expect(reduce(emptyStream, numbered(1, { type: "constructor" }, { type: "__proto__" })).items).toEqual([]);
});

test("a state that was reduced before is not changed by what comes after it", () => {
  const torn = reduce(emptyStream, firstRun.slice(0, 3));
  const before = JSON.stringify(torn);
  reduce(torn, firstRun.slice(3));
  expect(JSON.stringify(torn)).toBe(before);
});

test("ten times as long a history takes no hundred times as long", () => {
  const history = (length: number) => numbered(1, ...Array.from({ length }, (_, n): StreamEvent[] => [
    { type: "TEXT_MESSAGE_START", messageId: `m${n}` }, { type: "TEXT_MESSAGE_CONTENT", messageId: `m${n}`, delta: "word " },
    { type: "TEXT_MESSAGE_END", messageId: `m${n}` },
  ]).flat());
  const seconds = (length: number) => {
    const events = history(length);
    const from = performance.now();
    let state = emptyStream;
    for (let at = 0; at < events.length; at += 500) state = reduce(state, events.slice(at, at + 500));
    expect(state.items).toHaveLength(length);
    return performance.now() - from;
  };
  seconds(1_000);
  expect(seconds(10_000)).toBeLessThan(Math.max(seconds(1_000), 5) * 60);
});

const half = numbered(1,
  { type: "RUN_STARTED", threadId: "t", runId: "1" },
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "I think that we sh" },
);
const takenBack = numbered(4,
  { type: "CUSTOM", name: "ringi.superseded", value: { messageId: "m" } },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
);
const whole = numbered(6,
  { type: "TEXT_MESSAGE_START", messageId: "m~1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m~1", delta: "We should pay." },
  { type: "TEXT_MESSAGE_END", messageId: "m~1" },
);

test("a half message that was on the page goes when it is superseded", () => {
  const before = reduce(emptyStream, half);
  expect(texts(before)).toEqual(["I think that we sh"]);
  const after = reduce(before, takenBack);
  expect(texts(after)).toEqual([]);
  expect(after.items.map(({ kind }) => kind)).toEqual(["run"]);
  expect(texts(reduce(after, whole))).toEqual(["We should pay."]);
});

test("a superseded message does not come with the history, and its events stay among the raw ones", () => {
  const state = reduce(emptyStream, [...half, ...takenBack, ...whole]);
  expect(state.items.map(({ kind }) => kind)).toEqual(["run", "message"]);
  expect(numbers(state)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test.each<Json>([null, "m", {}, { messageId: 3 }, { messageId: "other" }])("an event that names no message of the page hides none: %j", (value) => {
  const state = reduce(emptyStream, [...half, ...numbered(4, { type: "CUSTOM", name: "ringi.superseded", value })]);
  expect(texts(state)).toEqual(["I think that we sh"]);
});

const event = (number: number) => `id: ${number}\ndata: {"type":"TEXT_MESSAGE_CONTENT","n":${number}}\n\n`;
const named = 'event: hitl\nid: 9\ndata: {"type":"hitl"}\n\nevent: closing\ndata: {}\n\n';
const server = { text: "", reads: [] as string[], isDown: false };

beforeEach(() => {
  FakeEventSource.all = [];
  Object.assign(server, { text: "", reads: [], isDown: false });
  vi.stubGlobal("EventSource", FakeEventSource);
  vi.stubGlobal("fetch", async (path: string) => {
    if (path.includes("/stream?")) server.reads.push(path);
    return server.isDown ? new Response("{}", { status: 503 }) : new Response(server.text, { status: 200 });
  });
  vi.useFakeTimers();
});

afterEach(() => vi.useRealTimers());

const pass = (seconds: number) => act(() => vi.advanceTimersByTimeAsync(seconds * 1_000));
const shown = () => screen.getByRole("status").textContent;

async function visit() {
  function Page() {
    const { stream, interruption } = useStream("t1");
    return <output>{interruption ?? "live"}: {stream.events.map(({ number }) => number).join(" ")}</output>;
  }
  show(<Page />);
  act(() => void FakeEventSource.last.dispatchEvent(new Event("open")));
  await pass(0.1);
}

test("a thread whose stream is held back is read every five seconds, each event once, until the stream passes", async () => {
  await visit();
  server.text = `retry: 700\n\n${event(1)}${event(2)}${named}`;
  await pass(29);
  expect(shown()).toBe("live: ");
  await pass(1);
  expect(shown()).toBe("held: 1 2");
  act(() => void FakeEventSource.last.dispatchEvent(new Event("open")));
  server.text = event(2) + event(3);
  await pass(5);
  expect(shown()).toBe("held: 1 2 3");
  expect(server.reads).toEqual(["/v1/threads/t1/stream?after=0&follow=false", "/v1/threads/t1/stream?after=2&follow=false"]);
  act(() => FakeEventSource.last.send("heartbeat", {}, "3"));
  await pass(10);
  expect(shown()).toBe("live: 1 2 3");
  expect(server.reads).toHaveLength(2);
});

test("a server that is away while the stream is held back is a lost connection", async () => {
  await visit();
  server.isDown = true;
  await pass(30.1);
  expect(shown()).toBe("lost: ");
});

test("a silent stream that is cut and opened again stays held back", async () => {
  await visit();
  server.text = event(1);
  await pass(30.1);
  for (const name of ["open", "error", "open"]) act(() => void FakeEventSource.last.dispatchEvent(new Event(name)));
  expect(shown()).toBe("held: 1");
  server.text = event(2);
  await pass(5);
  expect(shown()).toBe("held: 1 2");
});
