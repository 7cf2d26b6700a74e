import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import type { Request } from "../api/types";
import { createClient } from "../api/client";
import { aRequest, completedRequest, serve, show } from "../testing/fake-server";
import { RequestDetail } from "./request-detail";

const question = aRequest({ kind: "question", allowed: ["respond", "reject"] });

function open(request: Request, user = "ann") {
  const session = { name: user, role: "person", tenant: "t", groups: [] };
  const sent = serve((path, { method }) => {
    if (path === "/v1/session") return [200, session];
    if (path.startsWith("/v1/audit")) return [200, { items: [], next: null }];
    return method === "GET" ? [200, request] : [200, completedRequest(request)];
  });
  const client = createClient();
  client.setQueryData(["session"], session);
  show(<RequestDetail id={request.id} />, client);
  return { sent, user: userEvent.setup() };
}

const box = () => screen.findByLabelText<HTMLTextAreaElement>("Your answer");

async function typed(request: Request, user?: string) {
  const page = open(request, user);
  await page.user.type(await box(), "Kyoto");
  cleanup();
}

test("what was typed is there again after a reload", async () => {
  await typed(question);
  open(question);
  expect((await box()).value).toBe("Kyoto");
});

test("a draft about another version of the question is offered to be copied and never filled in", async () => {
  await typed(question);
  open({ ...question, digest: "sha256:other" });
  expect((await box()).value).toBe("");
  expect(screen.getByTestId("unsent-draft").textContent).toContain("Kyoto");
});

test("somebody else at the same browser does not read it", async () => {
  await typed(question, "ann");
  open(question, "bob");
  expect((await box()).value).toBe("");
  expect(screen.queryByTestId("unsent-draft")).toBeNull();
});

test("text that is no JSON yet is kept as it is, and still not sent", async () => {
  const request = aRequest({ action: { name: "pay", args: { lines: [1] } } });
  const page = open(request);
  await page.user.click(await screen.findByTestId("decide-edit"));
  await page.user.click(await screen.findByTestId("edit-json"));
  await page.user.type(screen.getByRole("textbox", { name: "lines" }), "x");
  cleanup();
  const { sent, user } = open(request);
  expect(await screen.findByRole("textbox", { name: "lines" })).toHaveProperty("value", "[\n  1\n]x");
  await user.click(screen.getByTestId("confirm-edit"));
  expect(await screen.findByTestId("field-error")).toBeTruthy();
  expect(sent).toEqual([]);
});

test("a browser that keeps nothing loses only the draft", async () => {
  const full = vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  const { sent, user } = open(question);
  await user.type(await box(), "Kyoto");
  await user.click(screen.getByTestId("decide-respond"));
  await waitFor(() => expect(sent[0]?.body).toMatchObject({ message: "Kyoto" }));
  full.mockRestore();
});

test("a number that is not read yet is kept as it is, and still not sent", async () => {
  const request = aRequest({ action: { name: "pay", args: { amount: 3 } } });
  open(request);
  fireEvent.click(await screen.findByTestId("decide-edit"));
  fireEvent.change(await screen.findByRole("spinbutton"), { target: { value: "1.234" } });
  cleanup();
  const { sent } = open(request);
  expect((await screen.findByRole<HTMLInputElement>("spinbutton")).value).toBe("1.234");
  fireEvent.click(screen.getByTestId("confirm-edit"));
  expect(await screen.findByTestId("field-error")).toBeTruthy();
  expect(sent).toEqual([]);
});
