import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { cacheRequest } from "../../api/requests";
import ChatPage from "../../chat/chat-page";
import { aPlan, anAction, anApproval, anItem, FakeAssistant } from "../../testing/fake-assistant";
import { aRequest, completedRequest, show } from "../../testing/fake-server";
import { known } from "../../testing/known";
import type { Change, Reason, Run } from "./api";

beforeEach(() => window.history.replaceState(null, "", "/chat/t1"));

const missing = (key: string, text: string) => known<Reason>({ code: "MISSING_INFO", key, text, fix: { kind: "ask", ref: key, label: "Answer" } });

const action = async (id: string) => {
  await screen.findAllByTestId("action");
  const found = screen.getAllByTestId("action").find((one) => one.dataset.id === id);
  if (!found) throw new Error(`no action ${id}`);
  return found;
};

function opened(prepare: (server: FakeAssistant) => void = () => undefined) {
  const server = new FakeAssistant();
  server.begin({ id: "u1", role: "user", parts: [{ type: "text", text: "hello" }] });
  server.say({ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "Hi" });
  server.end();
  prepare(server);
  return { server, client: show(<ChatPage id="t1" />) };
}

test("an agent that is no assistant has no bar of actions", async () => {
  const routes: string[] = [];
  opened((one) => {
    one.extraReply = (route) => {
      routes.push(route);
      return undefined;
    };
  });
  await screen.findByTestId("send");
  expect(screen.queryByTestId("actions")).toBeNull();
  expect(routes.filter((route) => route.includes("assistants"))).toEqual([]);
});

test("what can be done is a button, and what cannot says why in words, with the way on", async () => {
  const { server } = opened((one) => {
    one.actions = [
      anAction({}),
      anAction({ id: "apply", type: "apply", label: "Carry it out", enabled: false, have: 0, need: 2, reasons: [missing("goal", "waiting for: goal"), missing("prefs", "waiting for: preferences")] }),
    ];
  });
  expect(within(await action("plan")).getByTestId("do-action").hasAttribute("disabled")).toBe(false);
  const apply = await action("apply");
  expect(within(apply).getByTestId("do-action").hasAttribute("disabled")).toBe(true);
  expect(within(apply).getAllByTestId("reason").map((one) => one.textContent)).toEqual([
    expect.stringContaining("waiting for: goal"), expect.stringContaining("waiting for: preferences"),
  ]);
  await userEvent.click(within(apply).getByRole("button", { name: "Answer: waiting for: goal" }));
  await waitFor(() => expect(server.actionCalls).toEqual(["ask:goal"]));
});

test("an action that is pressed in a new chat begins it", async () => {
  window.history.replaceState(null, "", "/chat");
  const server = new FakeAssistant();
  show(<ChatPage id={undefined} />);
  await userEvent.click(within(await action("plan")).getByTestId("do-action"));
  await waitFor(() => expect(server.actionCalls).toEqual(["plan"]));
  expect(server.sent[0]?.body).toEqual({ agent: "chat" });
  await waitFor(() => expect(window.location.pathname).toMatch(/^\/chat\/chat-/));
});

test("a refusal says why, and the bar shows the actions as they are now", async () => {
  const { server } = opened();
  server.onAction = () => {
    server.actions = [anAction({ enabled: false, reasons: [missing("goal", "waiting for: goal")] })];
    return [409, { title: "not possible", detail: "action 'plan' is not possible now", reasons: [missing("goal", "「目標」を待っています")] }];
  };
  await userEvent.click(within(await action("plan")).getByTestId("do-action"));
  const error = await screen.findByTestId("error");
  expect(error.textContent).toContain("「目標」を待っています");
  expect(error.textContent).not.toContain("not possible now");
  await waitFor(async () => expect((await action("plan")).dataset.enabled).toBe("false"));
});

test("a refusal goes when the conversation moves on, and when it is closed", async () => {
  const { server } = opened((one) => {
    one.onAction = () => [409, { title: "not possible", detail: "not now" }];
  });
  const press = async () => userEvent.click(within(await action("plan")).getByTestId("do-action"));
  await press();
  await screen.findByTestId("error");
  server.move();
  await waitFor(() => expect(screen.queryByTestId("error")).toBeNull(), { timeout: 4_000 });
  await press();
  await userEvent.click(within(await screen.findByTestId("error")).getByRole("button", { name: "Close" }));
  await waitFor(() => expect(screen.queryByTestId("error")).toBeNull());
});

test("two clicks at once press once", async () => {
  const { server } = opened();
  const button = within(await action("plan")).getByTestId("do-action");
  act(() => {
    button.click();
    button.click();
  });
  await waitFor(() => expect(server.actionCalls).toEqual(["plan"]));
});

test("where the way on is not possible itself, its own way on is offered", async () => {
  const { server } = opened((one) => {
    const plan = anAction({ enabled: false, reasons: [missing("goal", "waiting for: goal")] });
    const reason = known<Reason>({ code: "NO_PLAN", key: "plan", text: "there is no plan yet", fix: { kind: "run_action", ref: "plan", label: "Make a plan" } });
    one.actions = [plan, anAction({ id: "apply", type: "apply", label: "Carry it out", enabled: false, reasons: [reason] })];
  });
  const apply = await action("apply");
  expect(within(apply).queryByRole("button", { name: /Make a plan/ })).toBeNull();
  await userEvent.click(within(apply).getByRole("button", { name: "Answer: there is no plan yet" }));
  await waitFor(() => expect(server.actionCalls).toEqual(["ask:goal"]));
});

test("nothing can be cleared in a conversation that nobody has begun", async () => {
  window.history.replaceState(null, "", "/chat");
  const server = new FakeAssistant();
  server.actions = [anAction({}), anAction({ id: "cancel", type: "cancel", label: "Start over" })];
  show(<ChatPage id={undefined} />);
  const clear = await action("cancel");
  expect(within(clear).getByTestId("do-action").hasAttribute("disabled")).toBe(true);
  expect(within(clear).getByTestId("reason").textContent).toContain("Nothing has started");
});

test("a plan shows what each step calls before what the agent says of it, and the call is open where it says more", async () => {
  const steps = [{ id: "s1", title: "Design", action: "add_milestone", args: { owner: "user-006", due: "2026-12-04", parts: ["a"] }, isDone: false }];
  const plan = aPlan({ steps, plan: { text: "All is **safe**", weeks: 2 } });
  const request = anApproval(plan);
  const { client } = opened((one) => {
    one.plans = [aPlan({ ...plan, request: { id: request.id, digest: request.digest, status: "pending" } })];
    one.requests.set(request.id, request);
  });
  const content = await screen.findByTestId("plan-content");
  expect(within(content).getByTestId("step-action").textContent).toBe("add_milestone");
  expect(within(content).getByTestId("step-args").textContent).toMatch(/owner.*user-006.*due.*2026-12-04.*parts.*"a"/s);
  const planText = within(content).getByTestId("plan-words");
  expect(planText.textContent).toContain("not checked");
  expect(within(content).getByTestId("plan-step").compareDocumentPosition(planText) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
  const facts = await screen.findByTestId("facts");
  expect(facts.closest("details")).not.toBeNull();
  cacheRequest(client, aRequest({ ...request, version: request.version + 1, digest: "sha256:other", action: { ...request.action, name: "executeWorkflow", args: { ...request.action?.args, notify: "all" } } }));
  await waitFor(() => expect(screen.getByTestId("facts").closest("details")).toBeNull());
});

test("a question that is asked beside the talk stands in the column, and stays as a record", async () => {
  const { server, client } = opened();
  await action("plan");
  const request = aRequest({ id: "q1", kind: "question", title: "What is the goal?", thread_id: "t1~ask~1", allowed: ["respond"] });
  server.requests.set("q1", request);
  server.asks = ["q1"];
  server.move();
  const card = await screen.findByTestId("request-detail");
  expect(card.textContent).toContain("What is the goal?");
  expect(screen.getByTestId("send")).toBeTruthy();
  const answered = completedRequest(request);
  server.requests.set("q1", answered);
  server.asks = [];
  server.move();
  cacheRequest(client, answered);
  await within(await screen.findByTestId("request-detail")).findByTestId("ended");
});

test("a question that the memory does not name does not appear, whatever thread it says it is of", async () => {
  opened((server) => {
    server.requests.set("q1", aRequest({ id: "q1", thread_id: "t1~ask~1" }));
  });
  await action("plan");
  expect(screen.queryByTestId("request-detail")).toBeNull();
});

test("a plan is read, compared with the version before and approved where it stands", async () => {
  const step = (id: string, title: string) => ({ id, title, action: "", args: {}, isDone: false });
  const first = { version: 1, status: "planned" as const, plan: "**First** the site", steps: [step("s1", "Design"), step("s3", "Test")] };
  const plan = aPlan({
    version: 2, versions: [first], plan: "First the app",
    feedback: [
      { id: "f1", text: "too tight", by: "ann", at: "2026-01-02T10:00:00Z", addressedIn: 2 },
      { id: "f2", text: "more people", by: "ann", at: "2026-01-02T10:00:00Z", addressedIn: null },
    ],
  });
  const request = anApproval(plan);
  const { server } = opened((one) => {
    one.plans = [aPlan({ ...plan, request: { id: request.id, digest: request.digest, status: "pending" } })];
    one.requests.set(request.id, request);
  });
  const card = await screen.findByTestId("plan-card");
  expect(within(card).getByTestId("plan-status").dataset.status).toBe("planned");
  expect(within(card).getAllByTestId("plan-step").map((one) => one.textContent)).toEqual(["Design", "Build"]);

  await userEvent.click(within(card).getByText(/Changed since version 1/));
  const changes = within(card).getAllByTestId("plan-change");
  expect(changes.map(({ dataset }) => dataset.kind).toSorted()).toEqual(["added", "changed", "removed"]);
  await userEvent.click(within(card).getByText(/^Feedback/));
  expect(within(card).getAllByTestId("feedback").map((one) => one.textContent)).toEqual([
    expect.stringContaining("taken up in version 2"), expect.stringContaining("for the next version"),
  ]);

  await userEvent.click(within(card).getByText("v1"));
  expect(within(card).getAllByTestId("plan-step").map((one) => one.textContent)).toEqual(["Design", "Test"]);
  expect(within(card).queryByTestId("decide-approve")).toBeNull();
  await userEvent.click(within(card).getByRole("button", { name: "To the newest" }));
  await userEvent.click(await within(card).findByTestId("decide-approve"));
  await waitFor(() => expect(server.sent.at(-1)?.body).toMatchObject({ decision: "approve", digest: "sha256:plan" }));
});

test("pressing what a plan's request asks for leads to the request, and approves nothing", async () => {
  const plan = aPlan({});
  const request = anApproval(plan);
  const { server } = opened((one) => {
    one.plans = [aPlan({ ...plan, request: { id: request.id, digest: request.digest, status: "pending" } })];
    one.actions = [anAction({}), anAction({ id: "apply", type: "apply", label: "Carry it out", workflowName: "executeWorkflow" })];
    one.requests.set(request.id, request);
  });
  const detail = await screen.findByTestId("request-detail");
  await userEvent.click(within(await action("apply")).getByTestId("do-action"));
  expect(document.activeElement).toBe(within(detail).getByTestId("decide-approve"));
  expect(server.sent).toEqual([]);
});

test("an obsolete plan names what changed, and offers the three ways on", async () => {
  const { server } = opened((one) => {
    one.plans = [aPlan({ status: "obsolete", changed: [{ key: "goal", title: "Business goal" }] })];
  });
  expect((await screen.findByTestId("changed-inputs")).textContent).toContain("Business goal");
  await userEvent.click(screen.getByTestId("plan-again"));
  await waitFor(() => expect(server.actionCalls).toEqual(["again:plan"]));
  await waitFor(() => expect(screen.getByTestId("approve-unchanged").hasAttribute("disabled")).toBe(false));
  await userEvent.click(screen.getByTestId("approve-unchanged"));
  await waitFor(() => expect(server.actionCalls).toEqual(["again:plan", "unchanged:plan"]));
});

test("to edit an obsolete plan asks for approval once more, with the editor open", async () => {
  const { server } = opened((one) => {
    one.plans = [aPlan({ status: "obsolete", changed: [{ key: "goal", title: "Business goal" }] })];
  });
  server.onAction = () => {
    const plan = aPlan({ version: 2 });
    const request = anApproval(plan);
    server.requests.set(request.id, request);
    server.plans = [aPlan({ ...plan, request: { id: request.id, digest: request.digest, status: "pending" } })];
    return undefined;
  };
  await userEvent.click(await screen.findByTestId("edit-plan"));
  await screen.findByTestId("confirm-edit");
  expect(server.actionCalls).toEqual(["unchanged:plan"]);
});

test("steps show how far they have come, and of a plan that is over nothing stays that the server does not tell", async () => {
  const { server } = opened((one) => {
    one.plans = [aPlan({ status: "executing" })];
    one.actions = [anAction({ id: "apply", type: "apply", workflowName: "executeWorkflow" })];
  });
  const states = () => screen.getAllByTestId("plan-step").map(({ dataset }) => dataset.state);
  await screen.findByTestId("plan-card");
  expect(states()).toEqual(["now", "waits"]);
  const [plan] = server.plans;
  if (!plan) throw new Error("no plan");
  server.plans = [{ ...plan, steps: plan.steps.map((step) => ({ ...step, isDone: step.id === "s1" })) }];
  server.move();
  await waitFor(() => expect(states()).toEqual(["done", "now"]));
  server.plans = [];
  server.runs = [known<Run>({ workflow: "executeWorkflow", status: "completed", at: "2026-01-02T10:05:00Z", error: null })];
  server.move();
  await waitFor(() => expect(screen.queryByTestId("plan-card")).toBeNull());
});

test("what a card shows is folded where it is said, as long as the card shows it", async () => {
  const tell = (server: FakeAssistant, version: number) => {
    server.begin({ id: `u${version + 1}`, role: "user", parts: [{ type: "text", text: "go on" }] });
    server.say({ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: `**Make a plan**, version ${version}:\n\nFirst the site ${version}` });
    server.end();
  };
  const { server } = opened((one) => {
    tell(one, 1);
    one.plans = [aPlan({})];
  });
  const line = await screen.findByTestId("on-card");
  expect(line.textContent).not.toContain("First the site");
  await userEvent.click(within(line).getByText("Make a plan, version 1: see its card"));
  await within(line).findByText(/First the site 1/);
  tell(server, 2);
  server.plans = [aPlan({ version: 2 })];
  await screen.findByText("Make a plan, version 2: see its card");
  await waitFor(() => expect(screen.getAllByTestId("on-card")).toHaveLength(1));
});

test("a plan whose execution failed shows what is done, and goes on by another approval", async () => {
  const { server } = opened((one) => {
    const plan = aPlan({ status: "failed", error: "no such owner", approval: { by: "ann", at: "2026-01-02T10:00:00Z" } });
    one.plans = [{ ...plan, steps: plan.steps.map((step) => ({ ...step, isDone: step.id === "s1" })) }];
  });
  const card = await screen.findByTestId("plan-card");
  expect(within(card).getByTestId("steps-done").textContent).toBe("1 of 2 steps done");
  expect(within(card).getByTestId("plan-again")).toBeTruthy();
  await userEvent.click(within(card).getByTestId("ask-again"));
  await waitFor(() => expect(server.actionCalls).toEqual(["unchanged:plan"]));
});

test("a plan that could not be made is only made again, and one that nobody is asked about is asked about again", async () => {
  const { server } = opened((one) => {
    one.plans = [aPlan({ status: "failed", error: "no model", steps: [] })];
  });
  await screen.findByTestId("plan-again");
  expect(screen.queryByTestId("ask-again")).toBeNull();
  server.plans = [aPlan({})];
  server.move();
  await screen.findByTestId("plan-not-asked");
  await userEvent.click(screen.getByTestId("ask-again"));
  await waitFor(() => expect(server.actionCalls).toEqual(["unchanged:plan"]));
});

test("a version that was kept over a change still says what had changed, and its open request is edited in place", async () => {
  const plan = aPlan({ pinned: [{ key: "goal", title: "Business goal" }], status: "obsolete", changed: [{ key: "budget", title: "Budget" }] });
  const request = anApproval(plan);
  const { server } = opened((one) => {
    one.plans = [aPlan({ ...plan, request: { id: request.id, digest: request.digest, status: "pending" } })];
    one.requests.set(request.id, request);
  });
  expect((await screen.findByTestId("plan-pinned")).textContent).toContain("Business goal");
  await screen.findByTestId("request-detail");
  await userEvent.click(screen.getByTestId("edit-plan"));
  await screen.findByTestId("confirm-edit");
  expect(server.actionCalls).toEqual([]);
});

test("a plan keeps its place while the talk goes on, and its next version comes to the end", async () => {
  const { server } = opened((one) => {
    one.plans = [aPlan({})];
  });
  await screen.findByTestId("plan-card");
  const order = () => [...document.querySelectorAll("[data-testid=chat-message], [data-testid=plan-card]")].map((one) => (one as HTMLElement).dataset.testid);
  const speak = (id: string) => {
    server.begin({ id, role: "user", parts: [{ type: "text", text: "more" }] });
    server.end();
  };
  // Until the talk rests it stays at its end.
  await waitFor(() => expect(document.querySelector("[data-beside]")?.getAttribute("data-floats")).toBe("false"));
  speak("u2");
  await waitFor(() => expect(screen.getAllByTestId("chat-message")).toHaveLength(3));
  expect(order()).toEqual(["chat-message", "chat-message", "plan-card", "chat-message"]);
  server.plans = [aPlan({ version: 2, status: "planning" })];
  server.move();
  await waitFor(() => expect(screen.getByTestId("plan-status").dataset.status).toBe("planning"));
  expect(order().at(-1)).toBe("plan-card");
});

test("the inspector shows each info with its source, and why it is so", async () => {
  opened((one) => {
    one.items = [
      anItem({ source: { kind: "model", actor: "ann", ref: "m1", quote: "sell 20 % more" } }),
      anItem({ key: "projects", title: "Projects", how: "handler", isFresh: false, value: [{ id: "p1", name: "Site" }], source: { kind: "handler", actor: "fetch_projects", ref: null, quote: null } }),
      anItem({ key: "prefs", title: "Preferences", status: "pending", value: null, error: "the stored value does not fit its current definition (prefs: Enter a number.)" }),
    ];
    one.changes = [
      known<Change>({ number: 2, at: "2026-01-02T10:00:00Z", op: "correct", key: "goal", title: "Business goal", source: { kind: "user", actor: "ann", ref: null, quote: null }, before: "10 %", after: "20 % more" }),
      known<Change>({ number: 1, at: "2026-01-02T09:00:00Z", op: "observed", key: "projects", title: "Projects", source: { kind: "handler", actor: "fetch_projects", ref: null, quote: null }, before: null, after: "Site" }),
    ];
  });
  await action("plan");
  await userEvent.click(screen.getByTestId("open-memory"));
  await screen.findByTestId("memory-inspector");
  const [goal, projects, prefs] = screen.getAllByTestId("memory-item");
  if (!goal || !projects || !prefs) throw new Error("infos are missing");
  expect(within(goal).getByTestId("source").textContent).toContain("sell 20 % more");
  expect(within(projects).getByTestId("item-status").dataset.status).toBe("stale");
  expect(within(projects).getByTestId("item-value").textContent).toContain("Site");
  expect(within(prefs).getByTestId("item-value").textContent).toContain("not known yet");
  expect(prefs.textContent).toContain("the stored value does not fit its current definition (prefs: Enter a number.)");
  await userEvent.click(within(goal).getByTestId("item-why"));
  await waitFor(() => expect(screen.getAllByTestId("memory-change")).toHaveLength(1));
  await userEvent.click(screen.getByTestId("all-changes"));
  await waitFor(() => expect(screen.getAllByTestId("memory-change")).toHaveLength(2));
});

test("the context is cleared only after it was said what goes", async () => {
  const { server } = opened((one) => {
    one.items = [anItem({})];
  });
  await action("plan");
  await userEvent.click(screen.getByTestId("open-memory"));
  await userEvent.click(await screen.findByTestId("clear-context"));
  expect(server.sent).toEqual([]);
  await userEvent.click(screen.getByTestId("confirm-clear"));
  await waitFor(() => expect(screen.queryAllByTestId("memory-item")).toHaveLength(0));
  expect(server.sent.map(({ path }) => path)).toEqual(["/v1/assistants/t1/memory"]);
});

test("a default is shown as a default, in the memory and on the plan, and can be changed from both", async () => {
  const { server } = opened((one) => {
    one.items = [anItem({ key: "people", title: "People", value: 2, source: { kind: "default", actor: null, ref: null, quote: null } })];
    one.plans = [aPlan({ defaults: [{ key: "people", title: "People", value: 2 }] })];
  });
  const onPlan = await screen.findByTestId("plan-defaults");
  expect(onPlan.textContent).toMatch(/^Defaults.*People:.*2/s);
  await userEvent.click(within(onPlan).getByRole("button", { name: "Change: People" }));
  await waitFor(() => expect(server.actionCalls).toEqual(["ask:people"]));
  await userEvent.click(screen.getByTestId("open-memory"));
  const item = await screen.findByTestId("memory-item");
  expect(within(item).getByTestId("item-status").dataset.status).toBe("default");
  expect(within(item).getByTestId("source").textContent).toBe("default");
  await userEvent.click(within(item).getByRole("button", { name: "Change: People" }));
  await waitFor(() => expect(server.actionCalls).toEqual(["ask:people", "ask:people"]));
});

test("a value that a person told, and a plan without defaults, offer no change of a default", async () => {
  opened((one) => {
    one.items = [anItem({ key: "people", title: "People", value: 2 })];
    one.plans = [aPlan({})];
  });
  await screen.findByTestId("plan-card");
  expect(screen.queryByTestId("plan-defaults")).toBeNull();
  await userEvent.click(screen.getByTestId("open-memory"));
  const item = await screen.findByTestId("memory-item");
  expect(within(item).getByTestId("item-status").dataset.status).toBe("collected");
  expect(within(item).queryByTestId("item-fix")).toBeNull();
});

test("a person says that any value is fine where the info allows it, and the memory shows it in words", async () => {
  const { server } = opened((one) => {
    one.items = [
      anItem({ key: "room", title: "Room", value: null, status: "pending", source: null, mayBeAny: true }),
      anItem({ key: "view", title: "View", value: "any", mayBeAny: true }),
      anItem({ key: "word", title: "Word", value: "any" }),
    ];
  });
  await userEvent.click(await screen.findByTestId("open-memory"));
  const [room, view, word] = await screen.findAllByTestId("memory-item");
  if (!room || !view || !word) throw new Error("three items");
  expect(within(view).getByTestId("item-value").textContent).toBe("Any is fine");
  expect(within(word).getByTestId("item-value").textContent).toBe("any");
  for (const item of [view, word]) expect(within(item).queryByTestId("item-any")).toBeNull();
  await userEvent.click(within(room).getByRole("button", { name: "Any is fine: Room" }));
  await waitFor(() => expect(server.actionCalls).toEqual(["any:room"]));
});
