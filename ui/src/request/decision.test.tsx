import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { cacheRequest } from "../api/requests";
import type { Request } from "../api/types";
import { aRequest, completedRequest, serve, show, type Reply } from "../testing/fake-server";
import { RequestDetail } from "./request-detail";

const refund = aRequest({
  action: { name: "refund", args: { order: 1182, amount: 4000, note: "sorry", now: false, lines: [{ sku: "A" }] } },
});
const note = { fields: [{ name: "note", type: "text" as const, label: "Note" }] };

function open(request: Request, answer: Reply = [200, completedRequest(request)]) {
  const sent = serve((_path, { method }) => (method === "GET" ? [200, request] : answer));
  const client = show(<RequestDetail id={request.id} />);
  return { sent, client, user: userEvent.setup() };
}

const button = (name: string) => screen.findByTestId<HTMLButtonElement>(name);

test("the real arguments are shown with their types, one row each", async () => {
  open(refund);
  expect((await screen.findByTestId("fact-amount")).textContent).toBe("4000");
  expect(screen.getByTestId("fact-note").textContent).toBe('"sorry"');
  await userEvent.click(within(screen.getByTestId("fact-lines")).getByTestId("as-json"));
  expect(screen.getByTestId("fact-lines").textContent).toContain('"sku": "A"');
});

test("an agent's description is Markdown: no HTML, no image, and a link says where it leads", async () => {
  open(aRequest({ description: "<img src=x onerror=alert(1)> ![x](http://evil/x.png) [a](http://evil)" }));
  const words = await screen.findByTestId("agent-words");
  await within(words).findAllByRole("link");
  expect(words.querySelectorAll("img")).toHaveLength(0);
  expect(words.textContent).toContain("<img src=x onerror=alert(1)>");
  expect(words.textContent).toMatch(/a \(http:\/\/evil\/?\)/);
});

test("the server's field errors stand at their fields and the typed text stays", async () => {
  const errors = [{ field: "note", message: "has 2 characters, at least 5 are needed: write more", code: "too_short", params: { length: 2, min: 5 } }, { field: "", message: "odd as a whole" }];
  const { user } = open(aRequest({ kind: "form", form: note }), [422, { title: "invalid", errors }]);
  await user.type(await screen.findByLabelText("Note"), "hm");
  await user.click(await button("decide-approve"));
  const field = within(screen.getByTestId("field-note"));
  expect((await field.findByTestId("field-error")).textContent).toBe("2 characters: write at least 5.");
  expect(screen.getByTestId("problems").textContent).toContain("odd as a whole");
  expect(screen.getByLabelText("Note")).toHaveProperty("value", "hm");
  expect((await button("decide-approve")).disabled).toBe(false);
});

test("a lost race kills the buttons in place, names the winner, and keeps the typed text", async () => {
  const winner = { decision: "approve", responder: "bob", at: "2026-01-02T10:04:00Z" };
  const { user } = open(aRequest({ kind: "form", form: note }), [409, { title: "final", code: "final", winner }]);
  await user.type(await screen.findByLabelText("Note"), "mine");
  await user.click(await button("decide-approve"));
  expect((await screen.findByTestId("ended")).textContent).toContain("answered by bob");
  const buttons = screen.getAllByTestId<HTMLButtonElement>(/^decide-/);
  expect(buttons.map(({ disabled }) => disabled)).toEqual([true, true]);
  expect(screen.getByLabelText("Note")).toHaveProperty("value", "mine");
});

test("a digest mismatch tells to read again and does not pretend that the request ended", async () => {
  const { user } = open(refund, [409, { title: "conflict", code: "digest_mismatch" }]);
  await user.click(await button("decide-approve"));
  expect((await screen.findByTestId("error")).textContent).toContain("changed since you saw it");
  expect((await button("decide-approve")).disabled).toBe(false);
});

test("a request that ends elsewhere while it is open dies in place", async () => {
  const request = aRequest({ kind: "form", form: note });
  const { user, client } = open(request);
  await user.type(await screen.findByLabelText("Note"), "mine");
  act(() => cacheRequest(client, completedRequest(request, "bob")));
  expect((await screen.findByTestId("ended")).textContent).toContain("answered by bob");
  expect((await button("decide-approve")).disabled).toBe(true);
  expect(screen.getByLabelText("Note")).toHaveProperty("value", "mine");
});

test("nothing counts as decided before the server agreed, and two clicks send one answer", async () => {
  let agree: (reply: [number, unknown]) => void = () => undefined;
  const { user, sent } = open(refund, new Promise<[number, unknown]>((resolve) => { agree = resolve; }));
  await user.click(await button("decide-approve"));
  await user.click(await button("decide-approve"));
  expect((await button("decide-approve")).textContent).toContain("Sending");
  expect((await button("decide-reject")).disabled).toBe(true);
  expect(screen.queryByTestId("record")).toBeNull();
  act(() => agree([200, completedRequest(refund)]));
  expect((await screen.findByTestId("record")).textContent).toContain("approved by ann");
  expect(sent).toHaveLength(1);
});

test("the second half of a double-click, which may meet the next request, decides nothing", async () => {
  const { sent } = open(refund);
  fireEvent.click(await button("decide-approve"), { detail: 2 });
  expect(screen.getByRole("button", { name: "Approve" })).toBeTruthy();
  expect(sent).toEqual([]);
});

test("an edit sends all arguments with their types and shows before and after", async () => {
  const { user, sent } = open(refund);
  await user.click(await button("decide-edit"));
  expect((await button("confirm-edit")).disabled).toBe(true);
  const amount = screen.getByLabelText("amount");
  await user.clear(amount);
  await user.type(amount, "3500");
  await user.click(screen.getByLabelText("now"));
  expect(screen.getByTestId("change-amount").textContent).toContain("4000→3500");
  await user.click(await button("confirm-edit"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({
    decision: "edit", digest: "sha256:abc",
    args: { order: 1182, amount: 3500, note: "sorry", now: true, lines: [{ sku: "A" }] },
  });
});

test("the name of the call stands above its arguments, with what a person changes", async () => {
  const { user } = open(refund);
  const line = await screen.findByTestId("signature");
  expect(line.textContent).toBe("refund");
  await user.click(await button("decide-edit"));
  await user.type(screen.getByLabelText("amount"), "{Backspace}5");
  expect(line.textContent).toBe("refund(amount=4000 → 4005, …)");
  await user.type(await screen.findByLabelText("sku"), "B");
  expect(line.textContent).toBe("refund(amount=4000 → 4005, lines, …)");
});

test("a nested argument that is no JSON is explained and not sent; reset brings it back", async () => {
  const { user, sent } = open(refund);
  await user.click(await button("decide-edit"));
  await user.click(await screen.findByTestId("edit-json"));
  await user.clear(screen.getByRole("textbox", { name: "lines" }));
  await user.type(screen.getByRole("textbox", { name: "lines" }), "[[1,");
  expect(screen.getAllByTestId("json-error").map((one) => one.textContent).join("")).toBe("Line 1, column 4, in [1]: a value is missing");
  await user.click(await button("confirm-edit"));
  expect(sent).toEqual([]);
  await user.click(within(screen.getByTestId("change-lines")).getByText("reset"));
  expect(within(screen.getByTestId("list-args.lines")).getByLabelText("sku")).toHaveProperty("value", "A");
});

test("the server's errors about edited arguments stand at their editors", async () => {
  const { user } = open(refund, [422, { errors: [{ field: "args.lines[0].sku", message: "unknown" }] }]);
  await user.click(await button("decide-edit"));
  await user.type(screen.getByLabelText("note"), "!");
  await user.click(await button("confirm-edit"));
  expect((await within(screen.getByTestId("field-args.lines[0].sku")).findByTestId("field-error")).textContent).toBe("unknown");
  expect(within(screen.getByTestId("arg-lines")).getByText("[0].sku: unknown")).toBeTruthy();
});

test("rejecting asks for a reason and sends it word for word", async () => {
  const { user, sent } = open(refund);
  await user.click(await button("decide-reject"));
  await user.type(screen.getByTestId("reject-reason"), "not late");
  // In the text, Enter alone begins a line.
  expect((await button("confirm-reject")).textContent).toBe("RejectCtrl ↵");
  await user.click(await button("confirm-reject"));
  await waitFor(() => expect(sent[0]?.body).toEqual({ decision: "reject", digest: "sha256:abc", message: "not late" }));
});

test("a question is answered with words, and not with none", async () => {
  const { user, sent } = open(aRequest({ kind: "question", allowed: ["respond", "reject"] }));
  await user.click(await button("decide-respond"));
  expect(sent).toEqual([]);
  await user.type(screen.getByLabelText("Your answer"), "1182");
  await user.click(await button("decide-respond"));
  await waitFor(() => expect(sent[0]?.body).toEqual({ decision: "respond", digest: "sha256:abc", message: "1182" }));
});

test("the finish of a task can be changed into another task", async () => {
  const { user, sent } = open(aRequest({ kind: "finish", context: { task: "haiku", summary: "done" } }));
  expect((await button("decide-approve")).textContent).toContain("Complete");
  expect((await button("decide-edit")).textContent).toContain("Change the task");
  await user.click(await button("decide-edit"));
  expect((await button("confirm-edit")).textContent).toContain("Change the task");
  await user.type(screen.getByLabelText("task"), " two");
  await user.click(await button("confirm-edit"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "edit", digest: "sha256:abc", data: { task: "haiku two" } });
});

test("a bare schema is answered with JSON", async () => {
  const { user, sent } = open(aRequest({ kind: "form", schema: { type: "object" } }));
  const editor = await screen.findByLabelText("Answer (JSON)");
  await user.clear(editor);
  await user.type(editor, '{{"a": 1}');
  await user.click(await button("decide-approve"));
  await waitFor(() => expect(sent[0]?.body).toEqual({ decision: "approve", digest: "sha256:abc", data: { a: 1 } }));
});

test("an agent's label never takes the place of the decision's own word", async () => {
  const actions = {
    approve: { label: "approve", style: null }, reject: { label: "Yes\u202E, go on", style: "primary" as const },
  };
  open(aRequest({ action: refund.action, actions }));
  const reject = await button("decide-reject");
  expect(await screen.findByRole("button", { name: "Reject “Yes\\u{202e}, go on”" })).toBe(reject);
  expect(screen.getByRole("button", { name: "Approve" })).toBe(await button("decide-approve"));
  expect(reject.className).not.toContain("ant-btn-primary");
});

test.each([
  ["policy:small refunds", "approved by rule small refunds"],
  ["policy:rules[0]", "approved by rule 1 of the policy"],
  ["policy:otherwise", "approved by the default of the policy"],
])("who answered by a rule is called a rule: %s", async (actor, text) => {
  const done = completedRequest(refund, actor);
  serve(() => [200, done]);
  show(<RequestDetail id={done.id} />);
  expect((await screen.findByTestId("record")).textContent).toContain(text);
});

test("the history of a changed task says what its button said", async () => {
  const done = completedRequest(aRequest({ kind: "finish", context: { task: "haiku" } }));
  const response = { ...done.response, decision: "edit" };
  const event = { id: "e1", type: "request.completed", actor: "ann", at: "2026-01-02T10:04:00Z", changed: { response } };
  serve((path) => [200, path.startsWith("/v1/audit") ? { items: [event], next: null } : done]);
  show(<RequestDetail id={done.id} />);
  await userEvent.setup().click(within(await screen.findByTestId("history")).getByText("History"));
  expect((await screen.findByTestId("history-event")).textContent).toContain("ann · task changed");
});

test("the history shortens a digest, and the whole one can be copied and read", async () => {
  const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
  const event = { id: "e1", type: "request.created", actor: "ann", at: "2026-01-02T10:04:00Z", changed: { digest } };
  serve((path) => [200, path.startsWith("/v1/audit") ? { items: [event], next: null } : aRequest({})]);
  show(<RequestDetail id="r1" />);
  const user = userEvent.setup();
  await user.click(within(await screen.findByTestId("history")).getByText("History"));
  const line = await screen.findByTestId("digest");
  expect(line.textContent).toBe("digest shown: 01234567 ");
  expect(within(line).getByTitle(digest).textContent).toBe("01234567");
  await user.click(within(line).getByRole("button", { name: "Copy" }));
  expect(await navigator.clipboard.readText()).toBe(digest);
});

test("a letter confirms nothing: the second look at a high call takes the key that its button shows", async () => {
  const { sent, user } = open(aRequest({ ...refund, tier: "high" }));
  const decisions = () => sent.filter(({ method }) => method === "POST");
  await user.click(await button("decide-approve"));
  await screen.findByTestId("confirm-stakes");
  act(() => (document.activeElement as HTMLElement | null)?.blur());
  await user.keyboard("aderv");
  expect(decisions()).toEqual([]);
  await user.keyboard("{Enter}");
  await waitFor(() => expect(decisions()).toHaveLength(1));
});
