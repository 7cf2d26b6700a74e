import { act, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import { App } from "../app";
import type { Request } from "../api/types";
import { aRequest, completedRequest, FakeEventSource, serve, type Reply } from "../testing/fake-server";

const aRequestAt = (number: number) => aRequest({ id: `r${number}`, title: `Refund ${number}`, created_at: `2026-01-02T10:00:0${9 - number}Z` });
const [first, second, third] = [1, 2, 3].map(aRequestAt) as [Request, Request, Request];

beforeEach(() => {
  FakeEventSource.all = [];
  vi.stubGlobal("EventSource", FakeEventSource);
});

/** Show the page for a server whose state a test changes, and whose replies it holds back: each reply has the state of its call. */
async function visit(address: string, ...pending: Request[]) {
  window.history.replaceState(null, "", address);
  const server = { pending, away: null as unknown, held: new Set<string>(), release: () => {}, reads: [] as string[] };
  let replies: (() => void)[] = [];
  server.release = () => {
    for (const reply of replies) reply();
    replies = [];
  };
  const now = (path: string): [number, unknown] => {
    if (path === "/v1/session") return [200, { name: "ann", role: "person", tenant: "t", groups: [] }];
    if (path.startsWith("/v1/requests/counts")) return [200, { pending: { count: server.pending.length, more: false }, mine: null, ended: null }];
    if (path.startsWith("/v1/requests?")) return [200, { items: server.pending, next: null }];
    const request = server.pending.find(({ id }) => path === `/v1/requests/${id}`);
    if (path.startsWith("/v1/requests/r")) return request ? [200, request] : [404, { detail: "no request" }];
    return [200, { items: [], next: null }];
  };
  const respond = (path: string): [number, unknown] => {
    const done = completedRequest(server.pending.find(({ id }) => path.includes(id)) as Request);
    server.pending = server.pending.filter(({ id }) => id !== done.id);
    return [200, done];
  };
  // Once only: a repeated read is answered at once, unless a test holds it back.
  server.held = new Set(["/v1/requests?", "/v1/requests/counts"]);
  serve((path, { method }): Reply => {
    if (method !== "GET") return respond(path);
    server.reads.push(path);
    const reply = now(path);
    const held = [...server.held].find((start) => path.startsWith(start));
    if (held === undefined) return reply;
    server.held.delete(held);
    return new Promise((resolve) => replies.push(() => resolve(reply)));
  });
  render(<App />);
  await waitFor(() => expect(server.reads.some((path) => path.startsWith("/v1/requests?"))).toBe(true));
  await waitFor(() => expect(FakeEventSource.all).toHaveLength(1));
  return server;
}

const open = () => act(() => void FakeEventSource.last.dispatchEvent(new Event("open")));
const ids = () => screen.queryAllByTestId("request-row").filter(({ dataset }) => dataset.left !== "true").map(({ dataset }) => dataset.id);
const shows = async (...expected: string[]) => {
  await waitFor(() => expect(ids().toSorted()).toEqual(expected));
  const count = expected.length > 0 ? String(expected.length) : "";
  await waitFor(() => expect(screen.getByTestId("pending-count").textContent).toBe(count), { timeout: 3_000 });
};

const orders: [string, (server: Awaited<ReturnType<typeof visit>>) => void][] = [
  ["the feed opens before the list comes", (server) => { open(); server.release(); }],
  ["the list comes before the feed opens", (server) => { server.release(); open(); }],
];

test.each(orders)("what was asked between the read of the list and the start of the feed is shown: %s", async (_order, goOn) => {
  const server = await visit("/");
  server.pending = [first];
  goOn(server);
  await shows("r1");
});

test.each(orders)("what was answered between the read of the list and the start of the feed is gone: %s", async (_order, goOn) => {
  const server = await visit("/", first, second);
  server.pending = [second];
  goOn(server);
  await shows("r2");
});

test("what the feed says while the list is on its way is shown once the list has come", async () => {
  const server = await visit("/", first, second);
  open();
  server.pending = [second, third];
  act(() => {
    FakeEventSource.last.send("request.completed", { type: "request.completed", position: "8", request: completedRequest(first) }, "8");
    FakeEventSource.last.send("request.created", { type: "request.created", position: "9", request: third }, "9");
  });
  server.release();
  await shows("r2", "r3");
});

test("a request that was passed on while the list was on its way is not in it", async () => {
  const server = await visit("/", first, second);
  open();
  server.held.add("/v1/requests?");
  act(() => FakeEventSource.last.send("request.reassigned", { type: "request.reassigned", position: "8", gone: "r1" }, "8"));
  server.pending = [second];
  server.release();
  await waitFor(() => expect(ids()).toEqual(["r2"]));
  act(() => FakeEventSource.last.send("request.reassigned", { type: "request.reassigned", position: "9", request: { ...first, version: 3 } }, "9"));
  await waitFor(() => expect(ids()).toContain("r1"));
});

test("a decision that was made before the list has come opens the next request once it comes", async () => {
  const server = await visit("/r/r1", first, second);
  await userEvent.setup().click(await screen.findByTestId("decide-approve"));
  await waitFor(() => expect(server.pending).toHaveLength(1));
  server.release();
  await waitFor(() => expect(screen.getByTestId("request-detail").dataset.id).toBe("r2"));
});
