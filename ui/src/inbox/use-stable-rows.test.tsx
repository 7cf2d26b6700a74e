import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, test } from "vitest";
import { requestQuery } from "../api/requests";
import type { Request } from "../api/types";
import { aRequest, completedRequest, serve } from "../testing/fake-server";
import { useStableRows } from "./stable-rows";

const pending = aRequest({});

/** Render a list; `change` replaces its requests, by a reply of the server or by the feed. */
function show(client: QueryClient, of: Request[]) {
  const wrapper = ({ children }: { children: ReactNode }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>;
  let asOf = 1;
  const { result, rerender } = renderHook((props: { listed: Request[]; asOf: number }) => useStableRows({ listKey: "all", present: null, isInactive: false, isBundled: false, ...props }), {
    wrapper, initialProps: { listed: of, asOf },
  });
  return {
    shape: () => result.current.rows.map(({ isOutdated, request }) => [isOutdated, request.status]),
    change: (listed: Request[], by: "server" | "feed") => {
      if (by === "server") asOf += 1;
      rerender({ listed, asOf });
    },
  };
}

/** Serve only ended requests; return the paths of the calls. */
function serveEndedRequests(): string[] {
  const paths: string[] = [];
  serve((path) => {
    paths.push(path);
    return [200, completedRequest(aRequest({ id: path.replace("/v1/requests/", "") }))];
  });
  return paths;
}

test("a row that has left the list says how its request ended, also when the list is the first to tell", () => {
  const client = new QueryClient();
  const { shape, change } = show(client, [pending]);
  change([], "feed");
  expect(shape()).toEqual([[true, "pending"]]);
  act(() => void client.setQueryData(["request", "r1"], { ...pending, version: 2, status: "completed" }));
  expect(shape()).toEqual([[true, "completed"]]);
});

test("the outcome of a row is fetched once when a reply of the server no longer has it, however new it is in the cache", async () => {
  const paths = serveEndedRequests();
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: 30_000 } } });
  client.setQueryData(["request", "r1"], pending);
  const other = aRequest({ id: "r0" });
  const { shape, change } = show(client, [pending, other]);
  change([other], "server");
  await waitFor(() => expect(shape()[0]).toEqual([true, "completed"]));
  change([other], "server");
  expect(paths).toEqual(["/v1/requests/r1"]);
});

test("what the feed takes out of the list is not fetched, and neither is what is known to have ended", () => {
  const paths = serveEndedRequests();
  const client = new QueryClient();
  const [moved, ended] = [pending, aRequest({ id: "r0" })];
  const { shape, change } = show(client, [moved, ended]);
  change([ended], "feed");
  client.setQueryData(["request", "r0"], completedRequest(ended));
  change([], "server");
  expect(shape()).toEqual([[true, "pending"], [true, "completed"]]);
  expect(paths).toEqual([]);
});

test("of many rows that leave together the first fifty are fetched, and a later reply does not ask for the rest", async () => {
  const paths = serveEndedRequests();
  const client = new QueryClient();
  const many = Array.from({ length: 60 }, (_, at) => aRequest({ id: `r${99 - at}` }));
  const { shape, change } = show(client, many);
  change([], "server");
  await waitFor(() => expect(shape().filter(([, status]) => status === "completed")).toHaveLength(50));
  change([], "server");
  await act(() => client.fetchQuery(requestQuery("last")));
  expect(paths).toHaveLength(51);
});
