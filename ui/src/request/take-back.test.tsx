import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { aRequest, serve, show, type Reply } from "../testing/fake-server";
import { known } from "../testing/known";
import { ReassignForm } from "./reassign-form";
import { TakeBack } from "./take-back";
import { RequestDetail } from "./request-detail";
import type { DecisionFormState } from "./use-decision-form";

/** Serve a request that somebody with this role reassigns to bob and takes back. */
function served(role: string, undone: Reply = [200, aRequest({ version: 3 })]) {
  return serve((path) => {
    if (path === "/v1/session") return [200, { name: "ann", role, tenant: "default", groups: [] }];
    if (path.startsWith("/v1/people")) return [200, { people: ["bob"], groups: [] }];
    if (path.endsWith("/undo")) return undone;
    return path.endsWith("/reassign") ? [200, aRequest({ assignee: "bob", version: 2 })] : [200, aRequest({})];
  });
}

test("who can no longer see a request after passing it on takes it back with one click", async () => {
  const sent = served("person");
  show(<RequestDetail id="r1" />);
  await userEvent.click(await screen.findByTestId("reassign"));
  await userEvent.type(screen.getByRole("combobox", { name: "Person" }), "bob");
  await userEvent.click(screen.getByTestId("confirm-reassign"));
  expect((await screen.findByTestId("unavailable")).textContent).toContain("Reassigned to bob.You can no longer see it. Take it back");
  await userEvent.click(screen.getByTestId("take-back"));
  expect(await screen.findByTestId("request-detail")).toBeTruthy();
  expect(sent.map(({ path }) => path)).toEqual(["/v1/requests/r1/reassign", "/v1/requests/r1/undo"]);
});

test("who still sees it finds the same link beside the words that it was reassigned", async () => {
  const sent = served("admin");
  const back = vi.fn();
  show(<ReassignForm form={known<DecisionFormState>({ request: aRequest({}), back })} onReassigned={vi.fn()} />);
  await userEvent.type(screen.getByRole("combobox", { name: "Person" }), "bob");
  fireEvent.click(screen.getByTestId("confirm-reassign"));
  fireEvent.click(await screen.findByTestId("take-back"));
  await waitFor(() => expect(sent.at(-1)?.path).toBe("/v1/requests/r1/undo"));
  await waitFor(() => expect(screen.queryByTestId("take-back")).toBeNull());
  expect(back).toHaveBeenCalledOnce();
});

test.each([404, 409])("after somebody has acted (%i) the link is gone, and words say why", async (status) => {
  served("person", [status, { status, code: "conflict", title: "No" }]);
  const onDone = vi.fn();
  show(<TakeBack id="r1" onDone={onDone} />);
  fireEvent.click(screen.getByTestId("take-back"));
  expect((await screen.findByRole("alert")).textContent).toBe("Somebody has acted on it since: it cannot be taken back.");
  expect([screen.queryByTestId("take-back"), onDone.mock.calls]).toEqual([null, []]);
});

test("a server that fails leaves the link where it is", async () => {
  served("person", [503, { status: 503, code: "unavailable", title: "Busy" }]);
  show(<TakeBack id="r1" onDone={vi.fn()} />);
  fireEvent.click(screen.getByTestId("take-back"));
  expect((await screen.findByRole("alert")).textContent).toContain("busy");
  expect(screen.getByTestId("take-back")).toBeTruthy();
});
