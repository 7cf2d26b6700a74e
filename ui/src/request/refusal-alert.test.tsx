import { cleanup, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Request } from "../api/types";
import { createClient } from "../api/client";
import { aRequest, completedRequest, serve, show } from "../testing/fake-server";
import { RequestDetail } from "./request-detail";

const question = aRequest({ kind: "question", allowed: ["respond", "reject"] });
const at = "2026-01-03T10:00:00Z";

function open(request: Request) {
  const session = { name: "ann", role: "person", tenant: "t", groups: [] };
  serve((path) => {
    if (path === "/v1/session") return [200, session];
    return path.startsWith("/v1/audit") ? [200, { items: [], next: null }] : [200, request];
  });
  const client = createClient();
  client.setQueryData(["session"], session);
  show(<RequestDetail id={request.id} />, client);
}

const gone = aRequest({ ...completedRequest(question, "erased:person"), title: "erased", erased: { at, by: "root", rule: "request" } });

test("an erased request says who erased it and how it had ended, in place of what was asked", async () => {
  open(gone);
  expect((await screen.findByTestId("erased")).textContent).toContain("Erased by root");
  expect(screen.getByRole("heading", { level: 2 }).textContent).toBe("Erased request");
  expect(screen.getByTestId("record").textContent).toContain("approved by an erased person");
  expect(screen.queryByTestId("agent-words")).toBeNull();
});

test("where one person's part was erased the question stays", async () => {
  open(aRequest({ ...completedRequest(question, "erased:person"), erased: { at, by: "root", rule: "person" } }));
  expect((await screen.findByTestId("erased")).textContent).toContain("One person's name and answer");
  expect(screen.getByRole("heading", { level: 2 }).textContent).toBe(question.title);
});

test("what was typed about it at this browser is erased too", async () => {
  open(question);
  await userEvent.setup().type(await screen.findByLabelText("Your answer"), "Kyoto");
  cleanup();
  open(gone);
  await screen.findByTestId("erased");
  expect(JSON.stringify(window.localStorage)).not.toContain("Kyoto");
  expect(Object.keys(window.localStorage).filter((key) => key.startsWith("ringi.draft/"))).toEqual([]);
});

test("a sign-in that is too old leads to the provider, and back to the request", async () => {
  const session = { name: "ann", role: "person", tenant: "t", groups: [] };
  const problem = { code: "fresh_sign_in", detail: "request 'r1' has the tier 'high', which needs a recent sign-in" };
  serve((path, { method }) => {
    if (path === "/v1/session/ways") return [200, { oidc: true }];
    if (path === "/v1/session") return [200, session];
    if (method === "POST") return [403, problem];
    return path.startsWith("/v1/audit") ? [200, { items: [], next: null }] : [200, question];
  });
  const client = createClient();
  client.setQueryData(["session"], session);
  show(<RequestDetail id={question.id} />, client);
  const user = userEvent.setup();
  await user.type(await screen.findByLabelText("Your answer"), "Kyoto");
  await user.click(screen.getByTestId("decide-respond"));
  expect((await screen.findByTestId("sign-in-again")).getAttribute("href")).toMatch(/^\/v1\/session\/oidc\?next=.*&fresh=true$/);
  expect(screen.getByTestId("error").textContent).toContain("This needs a recent sign-in. Nothing was decided");
});
