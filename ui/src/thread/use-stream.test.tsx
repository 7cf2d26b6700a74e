import { act, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeEventSource, show } from "../testing/fake-server";
import { useStream } from "./use-stream";

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
