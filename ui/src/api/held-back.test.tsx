import { QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClient } from "./client";
import { aRequest, FakeEventSource, serve } from "../testing/fake-server";
import { useFeed } from "./feed";
import { useRequests } from "./requests";

beforeEach(() => {
  FakeEventSource.all = [];
  vi.stubGlobal("EventSource", FakeEventSource);
  vi.useFakeTimers();
});

afterEach(() => vi.useRealTimers());

const pass = (seconds: number) => act(() => vi.advanceTimersByTimeAsync(seconds * 1_000));
const heartbeat = () => act(() => FakeEventSource.last.send("heartbeat", {}, "7"));

/** Show a list and the state of the feed; a test changes the server's list. */
async function visit() {
  const server = { items: [aRequest({})], lists: 0 };
  serve(() => {
    server.lists += 1;
    return [200, { items: server.items, next: null }];
  });
  function Page() {
    const connection = useFeed(() => undefined);
    const list = useRequests({ tab: "pending" }).data?.pages[0]?.items ?? [];
    return <output>{connection}: {list.map(({ id }) => id).join(" ")}</output>;
  }
  render(<QueryClientProvider client={createClient()}><Page /></QueryClientProvider>);
  act(() => void FakeEventSource.last.dispatchEvent(new Event("open")));
  await pass(0.1);
  return server;
}

const shown = () => screen.getByRole("status").textContent;

test("a stream that is open and silent for two heartbeats is read every five seconds, until it passes", async () => {
  const server = await visit();
  expect(shown()).toBe("live: r1");
  server.items = [aRequest({ id: "r2" })];
  await pass(29);
  expect(shown()).toBe("live: r1");
  await pass(1);
  expect(shown()).toBe("held: r2");
  expect(FakeEventSource.all).toHaveLength(2);
  act(() => void FakeEventSource.last.dispatchEvent(new Event("open")));
  server.items = [aRequest({ id: "r3" })];
  await pass(5);
  expect(shown()).toBe("held: r3");
  server.items = [aRequest({ id: "r4" })];
  heartbeat();
  await pass(0.1);
  expect(shown()).toBe("live: r4");
  const reads = server.lists;
  await pass(15);
  expect(server.lists).toBe(reads);
});

test("a silent stream that is cut and opened again stays held back, and is read until something is heard", async () => {
  const server = await visit();
  await pass(30);
  const happens = async (name: string) => {
    act(() => void FakeEventSource.last.dispatchEvent(new Event(name)));
    await pass(0.1);
    return shown();
  };
  expect(await happens("open")).toBe("held: r1");
  expect(await happens("error")).toBe("lost: r1");
  server.items = [aRequest({ id: "r2" })];
  await pass(5);
  expect(shown()).toBe("lost: r2");
  expect(await happens("open")).toBe("held: r2");
  server.items = [aRequest({ id: "r3" })];
  await pass(5);
  expect(shown()).toBe("held: r3");
  heartbeat();
  await pass(0.1);
  expect(shown()).toBe("live: r3");
});

test("heartbeats keep a quiet stream from being opened again", async () => {
  await visit();
  for (let beat = 0; beat < 10; beat += 1) {
    await pass(15); // eslint-disable-line no-await-in-loop
    heartbeat();
  }
  expect(shown()).toBe("live: r1");
  expect(FakeEventSource.all).toHaveLength(1);
});

test("a connection that died without a word is opened again", async () => {
  await visit();
  heartbeat();
  await pass(31);
  expect(FakeEventSource.all).toHaveLength(2);
  expect(FakeEventSource.all[0]?.readyState).toBe(FakeEventSource.CLOSED);
  expect(FakeEventSource.last.url).toBe("/v1/events?after=7");
});
