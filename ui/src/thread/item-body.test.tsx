import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Request } from "../api/types";
import { aRequest, completedRequest, serve, show } from "../testing/fake-server";
import { reduce, emptyStream, type ItemOf, type StreamEvent } from "./stream";
import { ToolCall } from "./item-body";

const call = (id: string, delta: string): StreamEvent[] => [
  { type: "TOOL_CALL_START", toolCallId: id, toolCallName: "refund" }, { type: "TOOL_CALL_ARGS", toolCallId: id, delta }, { type: "TOOL_CALL_END", toolCallId: id },
];
const pause: StreamEvent = { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "r1" }, { id: "r2" }] } };
const begun: StreamEvent[] = [{ type: "RUN_STARTED" }, ...call("c1", '{"order":1,"amount":5}'), ...call("c2", '{"order":2,"amount":5}')];
const asks = (id: string, order: number) => aRequest({ id, action: { name: "refund", args: { amount: 5, order } } });

function open(requests: Request[], ...events: StreamEvent[]) {
  serve((path) => {
    const found = requests.find(({ id }) => path.endsWith(`/${id}`));
    return found ? [200, found] : [404, { title: "not found", code: "not_found" }];
  });
  const { items } = reduce(emptyStream, events.map((event, index) => ({ number: index + 1, event })));
  show(<>{items.filter((item): item is ItemOf<"tool"> => item.kind === "tool").map((item) => <ToolCall key={item.key} item={item} />)}</>);
}

test("calls in a pause wait for a person, each with the request that asks about it", async () => {
  open([asks("r2", 2), asks("r1", 1)], ...begun, pause);
  expect((await screen.findAllByTestId("tool-request")).map((link) => link.getAttribute("href"))).toEqual(["/r/r1", "/r/r2"]);
  expect(screen.getAllByTestId("tool-waits")).toHaveLength(2);
});

test("a call waits also if its request is hidden from this person", async () => {
  open([], ...begun, pause);
  expect(await screen.findAllByTestId("tool-waits")).toHaveLength(2);
  expect(screen.queryByTestId("tool-request")).toBeNull();
});

test("a call runs again after the answer, and does not look as if it waited", async () => {
  open([asks("r1", 1), completedRequest(asks("r2", 2))], ...begun, pause, { type: "RUN_STARTED" });
  expect((await screen.findAllByText("runs…"))).toHaveLength(2);
  expect(screen.queryByTestId("tool-waits")).toBeNull();
});

test("a call without a result that ended with its run does not wait", async () => {
  open([asks("r1", 1), asks("r2", 2)], ...begun, pause, { type: "RUN_FINISHED", timestamp: 9, outcome: { type: "cancelled" } });
  expect((await screen.findAllByText("no result"))).toHaveLength(2);
});
