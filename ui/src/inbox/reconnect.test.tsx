import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import { App } from "../app";
import { aRequest, completedRequest, FakeEventSource, serve } from "../testing/fake-server";

const all = ["r3", "r2", "r1"].map((id, at) => aRequest({ id, created_at: `2026-01-02T10:00:0${3 - at}Z` }));
const rest = all.filter(({ id }) => id !== "r2");

beforeEach(() => {
  FakeEventSource.all = [];
  vi.stubGlobal("EventSource", FakeEventSource);
});

/** Show the inbox at a URL; a test may change the replies for the lists. */
async function visit(address: string) {
  window.history.replaceState(null, "", address);
  const server = { paths: [] as string[], lists: (): [number, unknown] => [200, { items: all, next: null }] };
  serve((path) => {
    server.paths.push(path);
    if (path === "/v1/session") return [200, { name: "ann", role: "person", tenant: "t", groups: [] }];
    if (path.startsWith("/v1/requests?")) return server.lists();
    const request = all.find(({ id }) => path === `/v1/requests/${id}`);
    return [200, request ? completedRequest(request) : { items: [], next: null }];
  });
  render(<App />);
  expect(await screen.findAllByTestId("request-row")).toHaveLength(3);
  await waitFor(() => expect(FakeEventSource.all).toHaveLength(1));
  server.paths.length = 0;
  return server;
}

const reconnect = () => act(() => void FakeEventSource.last.dispatchEvent(new Event("open")));
const row = (id: string) => screen.getAllByTestId("request-row").find(({ dataset }) => dataset.id === id);
const shownAsEnded = async () => {
  await waitFor(() => expect(row("r2")?.dataset.left).toBe("true"));
  await waitFor(() => expect(row("r2")?.textContent).toContain("approved by ann"));
};

test("a request that ended while the feed was away shows its outcome after the reconnect", async () => {
  const server = await visit("/");
  server.lists = () => [200, { items: rest, next: null }];
  reconnect();
  await shownAsEnded();
  expect(server.paths.filter((path) => path.startsWith("/v1/requests/r"))).toEqual(["/v1/requests/r2"]);
});

test("a cached list that still has the request does not hide the outcome", async () => {
  const server = await visit("/?tab=mine");
  await userEvent.setup().click(screen.getByTestId("tab-pending"));
  await waitFor(() => expect(server.paths.filter((path) => path.startsWith("/v1/requests?"))).toHaveLength(1));
  expect(await screen.findAllByTestId("request-row")).toHaveLength(3);
  server.lists = () => [200, { items: rest, next: null }];
  reconnect();
  await shownAsEnded();
});

test("a server that is busy at the reconnect does not hide the outcome", async () => {
  const server = await visit("/");
  server.lists = () => [503, { detail: "the store is busy" }];
  reconnect();
  const error = await screen.findByTestId("list-error");
  server.lists = () => [200, { items: rest, next: null }];
  await userEvent.setup().click(within(error).getByRole("button"));
  await shownAsEnded();
});

test("a reconnect asks again for the lists, unless the feed goes on where it was cut off", async () => {
  const server = await visit("/");
  const listCalls = () => server.paths.filter((path) => path.startsWith("/v1/requests?")).length;
  const countCalls = () => server.paths.filter((path) => path.startsWith("/v1/requests/counts")).length;
  reconnect();
  await waitFor(() => expect([listCalls(), countCalls()]).toEqual([1, 1]));
  const request = { ...all[0], version: 2 };
  act(() => FakeEventSource.last.send("request.claimed", { type: "request.claimed", position: 7, request }, "7"));
  const before = countCalls();
  reconnect();
  await waitFor(() => expect(countCalls()).toBeGreaterThan(before));
  expect(listCalls()).toBe(1);
});
