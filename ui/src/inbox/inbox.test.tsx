import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { Request } from "../api/types";
import { App } from "../app";
import { aRequest, completedRequest, FakeEventSource, serve, type Reply } from "../testing/fake-server";

const count = (number: number) => ({ count: number, more: false });
const all = [3, 2, 1].map((number) => aRequest({
  id: `r${number}`, title: `Refund ${number}`, created_at: `2026-01-02T10:00:0${4 - number}Z`,
}));
const named = (id: string) => all.find((request) => request.id === id) as Request;

beforeEach(() => vi.stubGlobal("EventSource", FakeEventSource));

/** Show the inbox at a URL; `answer` replies to writes. */
function visit(address: string, answer: (path: string, body: unknown) => Reply) {
  window.history.replaceState(null, "", address);
  const sent = serve((path, { method, body }) => {
    if (method !== "GET") return answer(path, body);
    if (path === "/v1/session") return [200, { name: "ann", role: "person", tenant: "t", groups: [] }];
    if (path.startsWith("/v1/requests/counts")) return [200, { pending: count(3), mine: count(0), ended: count(0) }];
    if (path.startsWith("/v1/requests?")) return [200, { items: all, next: null }];
    const request = all.find(({ id }) => path === `/v1/requests/${id}`);
    return request ? [200, request] : [200, { items: [], next: null }];
  });
  render(<App />);
  return { sent, user: userEvent.setup() };
}

const row = async (id: string) => {
  const rows = await screen.findAllByTestId("request-row");
  return rows.find(({ dataset }) => dataset.id === id) as HTMLElement;
};

test("a decision on its way is drawn as such; one that did not arrive comes back with the reason", async () => {
  let arrive = (_reply: [number, unknown]) => {};
  const { user } = visit("/r/r3", () => new Promise((resolve) => { arrive = resolve; }));
  await user.click(await screen.findByTestId("decide-approve"));
  expect((await row("r3")).textContent).toContain("Sending…");
  await user.click(within(await row("r2")).getByRole("link"));
  await waitFor(() => expect(screen.getByTestId("request-detail").dataset.id).toBe("r2"));
  arrive([503, { detail: "the store is busy" }]);
  await waitFor(async () => expect((await row("r3")).textContent).toContain("The server is busy"));
  expect((await row("r3")).dataset).toMatchObject({ status: "pending", left: "false" });
  expect(screen.getByTestId("request-detail").dataset.id).toBe("r2");
});

test("of many, what nobody knows is sent again, and only that", async () => {
  let tries = 0;
  const { user, sent } = visit("/", (_path, body) => {
    tries += 1;
    if (tries === 1) return [503, { detail: "the store is busy" }];
    const { items } = body as { items: { id: string }[] };
    return [200, { items: items.map(({ id }) => ({ id, status: 200, request: completedRequest(named(id)) })), next: null }];
  });
  await row("r3");
  await user.keyboard("jx{Shift>}{ArrowDown}{/Shift}");
  expect((await screen.findByTestId("bulk-count")).textContent).toBe("2 selected");
  await user.click(screen.getByTestId("bulk-approve"));
  await user.click(await screen.findByTestId("bulk-confirm"));
  expect((await screen.findByTestId("bulk-outcome")).textContent).toContain("2 requests skipped");
  expect(screen.getAllByTestId("bulk-line").map(({ dataset }) => dataset.state)).toEqual(["unknown", "unknown"]);
  await user.click(screen.getByTestId("bulk-confirm"));
  await waitFor(() => expect(screen.queryByTestId("bulk-dialog")).toBeNull());
  expect(sent.map(({ body }) => (body as { items: { id: string }[] }).items.map(({ id }) => id))).toEqual([["r3", "r2"], ["r3", "r2"]]);
  await waitFor(async () => expect((await row("r2")).textContent).toContain("approved by ann"));
  expect(screen.queryByTestId("bulk-bar")).toBeNull();
});

test("what somebody else has decided meanwhile is not selected any more", async () => {
  const { user } = visit("/", () => [500, {}]);
  await row("r3");
  await user.keyboard("jx{Shift>}{ArrowDown}{/Shift}");
  expect((await screen.findByTestId("bulk-count")).textContent).toBe("2 selected");
  FakeEventSource.last.send("request.completed", { type: "request.completed", request: completedRequest(named("r2")) }, "9");
  await waitFor(() => expect(screen.getByTestId("bulk-count").textContent).toBe("1 selected"));
  FakeEventSource.last.send("request.completed", { type: "request.completed", request: completedRequest(named("r3")) }, "10");
  await waitFor(() => expect(screen.queryByTestId("bulk-bar")).toBeNull());
});

test("while the server refuses, what is shown stays, and it is said above it", async () => {
  const { user } = visit("/", () => [500, {}]);
  await row("r3");
  serve((path) => (path.startsWith("/v1/requests?") ? [422, { detail: "no such list" }] : [200, { items: [], next: null }]));
  FakeEventSource.last.dispatchEvent(new Event("open"));
  expect((await screen.findByTestId("list-error")).textContent).toContain("no such list");
  expect(await screen.findAllByTestId("request-row")).toHaveLength(3);
  await user.keyboard("j");
  expect(document.activeElement).toBe(within(await row("r3")).getByRole("link"));
});
