import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { App } from "../app";
import ThreadPage from "../thread/thread-page";
import { aRequest, completedRequest, FakeEventSource, serve, show } from "../testing/fake-server";
import { feedEvents, useFeed } from "./feed";
import { cacheRequest, requestQuery } from "./requests";
import { takeToken } from "./session";

beforeEach(() => {
  FakeEventSource.all = [];
  vi.stubGlobal("EventSource", FakeEventSource);
  window.history.replaceState(null, "", "/");
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const numbers = () => Array.from(document.querySelectorAll("[data-number]"), (one) => Number(one.getAttribute("data-number")));

test("a stream that was refused is opened again after the last number, and shows each event once", async () => {
  const at = "2026-01-02T10:00:00Z";
  serve(() => [200, { id: "t", agent: "a", status: "running", values: {}, pending: [], usage: [], created_at: at, updated_at: at }]);
  show(<ThreadPage id="t" />);
  const first = FakeEventSource.last;
  expect(first.url).toBe("/v1/threads/t/stream?after=0");
  const delta = (text: string) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: text });
  act(() => {
    first.send("message", { type: "TEXT_MESSAGE_START", messageId: "m" }, "1");
    first.send("message", delta("Hel"), "2");
  });
  await waitFor(() => expect(numbers()).toEqual([1, 2]));
  act(() => first.refuse());
  await waitFor(() => expect(FakeEventSource.all).toHaveLength(2), { timeout: 5_000 });
  expect(FakeEventSource.last.url).toBe("/v1/threads/t/stream?after=2");
  act(() => {
    FakeEventSource.last.send("message", delta("Hel"), "2");
    FakeEventSource.last.send("message", delta("lo"), "3");
  });
  await waitFor(() => expect(numbers()).toEqual([1, 2, 3]));
  expect(screen.getByTestId("message").textContent).toBe("Hello");
});

test("an older version of a request never replaces a newer one", () => {
  const client = new QueryClient();
  const done = completedRequest(aRequest({}));
  cacheRequest(client, done);
  cacheRequest(client, aRequest({}));
  expect(client.getQueryData(["request", "r1"])).toBe(done);
});

test("a request that was on its way from the server while the feed told of a change does not undo it", async () => {
  const client = new QueryClient();
  let arrive = (_reply: [number, unknown]) => {};
  serve(() => new Promise((resolve) => { arrive = resolve; }));
  const fetching = client.fetchQuery(requestQuery("r1"));
  const done = completedRequest(aRequest({}));
  cacheRequest(client, done);
  arrive([200, aRequest({})]);
  expect(await fetching).toEqual(done);
  expect(client.getQueryData(["request", "r1"])).toEqual(done);
});

test("the token leaves the address bar before anything else happens", () => {
  window.history.replaceState(null, "", "/r/r1#token=s3cret");
  expect(takeToken()).toBe(true);
  expect(window.location.href).not.toContain("s3cret");
  expect(window.location.pathname).toBe("/r/r1");
});

test("a link signs in once; the feed brings requests into the list, and what ended stays there dead", async () => {
  window.history.replaceState(null, "", "/#token=s3cret");
  takeToken();
  const sent = serve((path, { method }) => {
    if (path === "/v1/session") return method === "POST" ? [204, null] : [200, { name: "ann", role: "person", tenant: "t", groups: [] }];
    return path === "/v1/info" ? [200, { scripted: true, model: null, version: "0", no_deliveries: true }] : [200, { items: [], next: null }];
  });
  render(<App />);
  expect(await screen.findByTestId("scripted")).toBeTruthy();
  expect(screen.getByTestId("copy-of-store").textContent).toContain("Nothing is sent");
  expect(await screen.findByTestId("empty")).toBeTruthy();
  expect(sent).toEqual([{ method: "POST", path: "/v1/session", body: { token: "s3cret" } }]);
  const request = aRequest({});
  act(() => FakeEventSource.last.send("request.created", { type: "request.created", position: 1, request }, "1"));
  expect((await screen.findByTestId("request-row")).textContent).toContain("Refund order 1182?");
  act(() => FakeEventSource.last.send("request.completed", { type: "request.completed", position: 2, request: completedRequest(request) }, "2"));
  await waitFor(() => expect(screen.getByTestId("request-row").dataset).toMatchObject({ status: "completed", left: "true" }));
  expect(screen.getByTestId("request-row").textContent).toContain("approved by ann");
});

test("every event of the server's feed reaches the page, also the one of a run that was sent on once more", () => {
  const client = new QueryClient();
  const heard: string[] = [];
  function Feed() {
    useFeed(({ type }) => heard.push(type));
    return null;
  }
  render(<QueryClientProvider client={client}><Feed /></QueryClientProvider>);
  const stuck = { ...aRequest({}), attention: "worker_died" };
  feedEvents.forEach((type, n) => {
    const request = { ...stuck, version: n + 2, attention: type === "request.retried" ? null : stuck.attention };
    act(() => FakeEventSource.last.send(type, { type, position: `${n}`, request }, `${n}`));
    if (type === "request.retried") expect(client.getQueryData(["request", "r1"])).toMatchObject({ attention: null });
  });
  expect(heard).toEqual([...feedEvents]);
  expect(heard).toContain("request.retried");
});

/** Open the feed in a visible tab; return the positions that it hears, and how it goes to the background and on for another tab. */
function openTab(client: QueryClient) {
  let goOn = () => {};
  vi.stubGlobal("navigator", {
    ...navigator,
    locks: {
      request: (_name: string, { ifAvailable }: { ifAvailable?: boolean }, take: (lock: null) => unknown) => {
        if (!ifAvailable) goOn = () => void take(null);
        return Promise.resolve(ifAvailable ? take(null) : undefined);
      },
    },
  });
  const heard: string[] = [];
  function Feed() {
    useFeed(({ position }) => heard.push(position));
    return null;
  }
  render(<QueryClientProvider client={client}><Feed /></QueryClientProvider>);
  const hide = () => {
    vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    document.dispatchEvent(new Event("visibilitychange"));
    expect(FakeEventSource.last.readyState).toBe(FakeEventSource.CLOSED);
    goOn();
  };
  return { heard, hide };
}

test("a tab in the background that goes on for another one misses nothing, and repeats no notification", () => {
  const client = new QueryClient();
  const { heard, hide } = openTab(client);
  const send = (position: string, at: number) => act(() => FakeEventSource.last.send("request.claimed", {
    type: "request.claimed", position, at: new Date(at).toISOString(), request: { ...aRequest({}), version: Number(position) },
  }, position));
  send("7", Date.now());
  hide();
  expect(FakeEventSource.last.url).toBe("/v1/events?after=7");
  send("8", Date.now() - 60_000);
  send("9", Date.now());
  expect(heard).toEqual(["7", "9"]);
  expect(client.getQueryData(["request", "r1"])).toMatchObject({ version: 9 });
});

test("a tab that goes to the background before any event goes on from where its feed began", () => {
  const { hide } = openTab(new QueryClient());
  act(() => FakeEventSource.last.receive("retry: 700\n\nevent: heartbeat\nid: 6\ndata: {}\n\n"));
  hide();
  expect(FakeEventSource.last.url).toBe("/v1/events?after=6");
});

test("a request that was passed on is dead in the list", async () => {
  serve((path) => {
    if (path === "/v1/session") return [200, { name: "ann", role: "person", tenant: "t", groups: [] }];
    return path === "/v1/info" ? [200, { scripted: true, model: null, version: "0" }] : [200, { items: [], next: null }];
  });
  render(<App />);
  expect(await screen.findByTestId("empty")).toBeTruthy();
  act(() => FakeEventSource.last.send("request.created", { type: "request.created", position: 1, request: aRequest({}) }, "1"));
  expect(await screen.findByTestId("request-row")).toBeTruthy();
  act(() => FakeEventSource.last.send("request.reassigned", { type: "request.reassigned", position: 2, gone: "r1" }, "2"));
  await waitFor(() => expect(screen.getByTestId("request-row").dataset.left).toBe("true"));
  expect(screen.getByTestId("request-row").textContent).toContain("no longer in this list");
});

test("without a session the page asks for the link, calmly", async () => {
  serve(() => [401, { title: "no session" }]);
  render(<App />);
  expect(await screen.findByTestId("sign-in")).toBeTruthy();
});
