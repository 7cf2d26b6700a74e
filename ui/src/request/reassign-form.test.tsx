import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { aRequest, serve, show, type Reply } from "../testing/fake-server";
import { ReassignForm } from "./reassign-form";
import type { DecisionFormState } from "./use-decision-form";
import { known } from "../testing/known";

const unknownName = (nearest: string | null) => ({
  status: 422, code: "invalid", title: "Invalid",
  errors: [{ field: "assignee", code: "unknown_name", message: "nobody", params: { name: "an", nearest } }],
});

/** Show the form with these people on offer; return what the page sends, and what it calls once the request is gone. */
function open(people: string[]) {
  const onReassigned = vi.fn();
  const sent = serve((path, { body }) => {
    if (path.startsWith("/v1/people")) return [200, { people, groups: [] }];
    if (path === "/v1/session") return [200, { name: "zoe", role: "person", tenant: "default", groups: [] }];
    const to = body as { assignee: string; unknown?: boolean };
    return people.includes(to.assignee) || to.unknown ? [200, aRequest({ assignee: to.assignee })] : [422, unknownName(people[0] ?? null)];
  });
  show(<ReassignForm form={known<DecisionFormState>({ request: aRequest({}), back: vi.fn() })} onReassigned={onReassigned} />);
  return { sent, onReassigned };
}

test.each(["an", "nn"])("Enter takes the name on offer for %s, and the next one sends it", async (typed) => {
  const { sent } = open(["ann"]);
  const field = screen.getByRole("combobox", { name: "Person" });
  await userEvent.type(field, typed);
  await screen.findAllByText("ann");
  await userEvent.keyboard("{Enter}");
  await waitFor(() => expect(field).toHaveProperty("value", "ann"));
  expect(sent).toEqual([]);
  await userEvent.keyboard("{Enter}");
  await waitFor(() => expect(sent.map(({ body }) => body)).toEqual([{ assignee: "ann", groups: [] }]));
});

test("until the reply to a longer text, only the names that contain it are on offer", async () => {
  let isAsked = false;
  serve((path) => {
    const reply: Reply = [200, { people: ["admin", "ann"], groups: [] }];
    if (!path.endsWith("q=ad")) return reply;
    isAsked = true;
    return new Promise<never>(() => {});
  });
  show(<ReassignForm form={known<DecisionFormState>({ request: aRequest({}), back: vi.fn() })} onReassigned={vi.fn()} />);
  const field = screen.getByRole("combobox", { name: "Person" });
  await userEvent.type(field, "a");
  await screen.findAllByText("ann");
  await userEvent.type(field, "d");
  await waitFor(() => expect(isAsked).toBe(true));
  await waitFor(() => expect(screen.queryAllByText("ann")).toEqual([]));
  await userEvent.keyboard("{ArrowDown}{Enter}");
  expect(field).toHaveProperty("value", "admin");
});

test("Enter sends a name that is known, also where a longer one is listed before it", async () => {
  const { sent } = open(["anna", "ann"]);
  await userEvent.type(screen.getByRole("combobox", { name: "Person" }), "ann");
  await screen.findAllByText("anna");
  await userEvent.keyboard("{Enter}");
  await waitFor(() => expect(sent.map(({ body }) => body)).toEqual([{ assignee: "ann", groups: [] }]));
});

test("a name that nobody has is asked about, with who could see the request then", async () => {
  const { sent } = open([]);
  const field = screen.getByRole("combobox", { name: "Person" });
  await userEvent.type(field, "an");
  fireEvent.click(screen.getByTestId("confirm-reassign"));
  expect((await screen.findByTestId("unknown-names")).textContent).toContain("Only administrators could then see this request.");
  await userEvent.type(screen.getByRole("combobox", { name: "Groups" }), "x,");
  expect(screen.queryByTestId("unknown-names")).toBeNull();
  fireEvent.click(screen.getByTestId("confirm-reassign"));
  fireEvent.click(await screen.findByTestId("take-unknown"));
  await waitFor(() => expect(sent.at(-1)?.body).toEqual({ assignee: "an", groups: ["x"], unknown: true }));
});

test("the nearest name is one click away", async () => {
  open(["ann"]);
  await userEvent.type(screen.getByRole("combobox", { name: "Person" }), "ane");
  fireEvent.click(screen.getByTestId("confirm-reassign"));
  fireEvent.click(await screen.findByTestId("use-nearest"));
  expect(screen.getByRole("combobox", { name: "Person" })).toHaveProperty("value", "ann");
  expect(screen.queryByTestId("unknown-names")).toBeNull();
});
