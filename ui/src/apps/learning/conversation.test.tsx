import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { Request } from "../../api/types";
import { aConversation, aLearning, anInsight, aTurn } from "../../testing/fake-learning";
import { completedRequest, FakeEventSource, serve, show, type Reply, type RecordedWrite } from "../../testing/fake-server";
import LearningPage from "./learning-page";
import type { Conversation, Insight } from "./api";

const query = { type: "string", examples: ["How do I glue oak?", "オークの接着は？"] };
const agent = { name: "engrammer", title: "Workshop", description: "", input_schema: { properties: { query } } };
const playbook = { id: "engrammer", agent: "engrammer", version: 3, bullets: 2, tokens: 40, budget: 8000, waiting: 1 };

class Server {
  conversation: Conversation | undefined;
  requests = new Map<string, Request>();
  note: Reply = [404, { code: "not_found" }];
  refusal: Reply | undefined;
  sent: RecordedWrite[];

  constructor() {
    this.sent = serve((path, { method, body }) => this.answer(`${method} ${path.split("?")[0]}`, body));
  }

  private answer(route: string, body: unknown): Reply {
    const page = (items: unknown[]): Reply => [200, { items, next: null }];
    if (route === "GET /v1/agents") return page([agent]);
    if (route === "GET /v1/playbooks") return page([playbook]);
    if (route === "GET /v1/session") return [200, { name: "ann", role: "person", tenant: "default", groups: [] }];
    if (route === "POST /engrammerFlow_getNote") return this.note;
    if (route === "POST /v1/requests/respond") return [200, { items: this.decide(body as { items: { id: string }[] }) }];
    if (route.startsWith("POST /v1/requests/")) return [200, this.complete(route.split("/")[3] ?? "")];
    if (route.startsWith("GET /v1/requests/")) return [200, this.requests.get(route.split("/")[3] ?? "")];
    if (route.startsWith("GET /v1/threads/")) return [200, { id: "learn-1", agent: "engrammer", status: "done", pending: [] }];
    if (route.startsWith("GET /v1/engrammer/")) return this.conversation ? [200, this.conversation] : [404, {}];
    if (route.startsWith("POST /v1/engrammer/")) return this.refusal ?? [202, { thread_id: "learn-1", run_id: "run-2", id: "learn-1" }];
    return page([]);
  }

  private complete(id: string): Request {
    const request = this.requests.get(id);
    if (!request) throw new Error(`nobody asks ${id}`);
    this.requests.set(id, completedRequest(request));
    return completedRequest(request);
  }

  private decide({ items }: { items: { id: string }[] }) {
    return items.map(({ id }) => ({ id, status: 200, request: this.complete(id), problem: null }));
  }
}

let server: Server;
beforeEach(() => {
  FakeEventSource.all = [];
  vi.stubGlobal("EventSource", FakeEventSource);
  Element.prototype.scrollIntoView = () => undefined;
  window.history.replaceState(null, "", "/learning");
  server = new Server();
});

/** Add a proposal with each of these ids to the conversation, with the cautions of some of them. */
function proposes(ids: string[], cautions: Record<string, Partial<Insight>> = {}) {
  for (const id of ids) server.requests.set(id, aLearning({ feedback: { source: "environment", verdict: "wrong", text: "", by: null } }, {}, { id, digest: `sha256:${id}` }));
  const insights = ids.map((id) => anInsight({ id: `i-${id}`, request: { id, digest: `sha256:${id}`, status: "pending" }, ...cautions[id] }));
  server.conversation = aConversation({ status: "interrupted", pending: ids, turns: [aTurn({ phase: "reviewing", insights })] });
}

test("an example in the language of the page begins a conversation, and the question stands there at once", async () => {
  const user = userEvent.setup();
  show(<LearningPage id={undefined} />);
  const [example, ...others] = await screen.findAllByTestId("example");
  expect(others).toEqual([]);
  await user.click(example as HTMLElement);
  expect((await screen.findByTestId("question")).textContent).toBe("How do I glue oak?");
  expect(screen.getByTestId("activity")).toBeTruthy();
  await waitFor(() => expect(window.location.pathname).toMatch(/^\/learning\/learn-/));
  expect(server.sent[0]?.body).toEqual({ query: "How do I glue oak?", agent: "engrammer" });
});

test("an answer is shown as it is written, without what was said before a note was looked up", async () => {
  server.conversation = aConversation({ status: "running", turns: [aTurn({ phase: "answering", response: null, references: [], bullets: [] })] });
  show(<LearningPage id="learn-1" />);
  await screen.findByTestId("activity");
  const stream = FakeEventSource.all.find(({ url }) => url.includes("/threads/learn-1/stream"));
  if (!stream) throw new Error("nobody follows the thread");
  let number = 0;
  const tell = (type: string, more: object) => stream.send("message", { type, ...more }, String((number += 1)));
  act(() => {
    tell("RUN_STARTED", {});
    tell("TEXT_MESSAGE_START", { messageId: "m1" });
    tell("TEXT_MESSAGE_CONTENT", { messageId: "m1", delta: "Let me look." });
    tell("TOOL_CALL_START", { toolCallId: "c1", toolCallName: "get_note" });
    tell("TEXT_MESSAGE_START", { messageId: "m2" });
    tell("TEXT_MESSAGE_CONTENT", { messageId: "m2", delta: "Glue **both** sides" });
  });
  const answer = await screen.findByTestId("answer");
  await waitFor(() => expect(answer.textContent).toBe("Glue both sides"));
});

test("a note opens over the page, and one that is missing is named", async () => {
  const user = userEvent.setup();
  server.conversation = aConversation({});
  server.note = [200, { id: "joint-012", type: "text", title: "Tenons", content: "Cheeks **first**.", createdAt: "2026-01-02T10:00:00Z", source: "woodworking_db" }];
  show(<LearningPage id="learn-1" />);
  const [note, bullet] = within(await screen.findByTestId("refs")).getAllByTestId("ref");
  await user.click(note as HTMLElement);
  expect((await screen.findByTestId("note-content")).textContent).toBe("Cheeks first.");
  expect(server.sent.at(-1)?.body).toEqual({ source: "woodworking_db", noteId: "joint-012" });
  server.note = [404, { code: "not_found" }];
  await user.keyboard("{Escape}");
  await user.click(bullet as HTMLElement);
  expect((await screen.findByText(/There is no note “b-00001”/)).textContent).toContain("playbook");
});

test("a person's word on an answer is sent with the run that it is about", async () => {
  const user = userEvent.setup();
  server.conversation = aConversation({});
  show(<LearningPage id="learn-1" />);
  await user.click(await screen.findByTestId("say-wrong"));
  await user.type(screen.getByTestId("feedback-text"), "It must be the shoulders.");
  await user.click(screen.getByTestId("send-feedback"));
  expect(await screen.findByTestId("feedback-sent")).toBeTruthy();
  expect(server.sent.at(-1)).toMatchObject({
    path: "/v1/engrammer/learn-1/feedback", body: { verdict: "wrong", text: "It must be the shoulders.", turn: "run-1" },
  });
});

test("all proposals are approved at once, each by what of it was shown", async () => {
  const user = userEvent.setup();
  proposes(["r1", "r2"]);
  show(<LearningPage id="learn-1" />);
  await user.click(await screen.findByTestId("approve-all"));
  await waitFor(() => expect(server.sent.map(({ path }) => path)).toEqual(["/v1/requests/respond"]));
  expect(server.sent[0]?.body).toEqual({ items: [
    { id: "r1", digest: "sha256:r1", decision: "approve" }, { id: "r2", digest: "sha256:r2", decision: "approve" },
  ] });
});

test.each([
  ["what only the agent judged", { r2: { isOwnOpinion: true } }, "approves 2 insights; 1 with only the agent's own opinion is left out", ["r1", "r3"]],
  ["what may contradict the playbook", { r2: { contradictsPlaybook: true } }, "approves 2 insights; 1 that may contradict one another or the playbook is left out", ["r1", "r3"]],
  ["what may contradict another proposal", { r1: { contradicts: ["r2"] }, r2: { contradicts: ["r1"], isOwnOpinion: true } }, "approves 1 insight; 2 that may contradict one another or the playbook are left out", ["r3"]],
])("%s is left out of an approval of all, and the page says so below the cards", async (_what, cautions, text, approved) => {
  const user = userEvent.setup();
  proposes(["r1", "r2", "r3"], cautions);
  show(<LearningPage id="learn-1" />);
  const covers = await screen.findByText(text);
  expect(screen.getAllByTestId("insight").at(-1)?.compareDocumentPosition(covers)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
  await user.click(screen.getByTestId("approve-all"));
  await waitFor(() => expect(server.sent[0]?.body).toMatchObject({ items: approved.map((id) => ({ id })) }));
});

test("where all proposals are only the agent's opinion, none is approved with the others", async () => {
  proposes(["r1", "r2"], { r1: { isOwnOpinion: true }, r2: { isOwnOpinion: true } });
  show(<LearningPage id="learn-1" />);
  expect(await screen.findByTestId("approve-all")).toHaveProperty("disabled", true);
  expect(screen.getByTestId("reject-all")).toHaveProperty("disabled", false);
});

test("cards that may contradict one another are marked, and what contradicts the playbook is marked by its own facts", async () => {
  proposes(["r1", "r2", "r3"], { r1: { contradicts: ["r2"] }, r2: { contradicts: ["r1"] }, r3: { contradictsPlaybook: true } });
  show(<LearningPage id="learn-1" />);
  await screen.findByTestId("approve-all");
  expect(screen.getAllByTestId("insight").map((card) => within(card).queryByTestId("contradicts") !== null)).toEqual([true, true, false]);
});

test("all proposals are rejected at once with one reason", async () => {
  const user = userEvent.setup();
  proposes(["r1", "r2"]);
  show(<LearningPage id="learn-1" />);
  await user.click(await screen.findByTestId("reject-all"));
  await user.type(screen.getByTestId("reject-all-reason"), "guessed");
  await user.click(screen.getByTestId("confirm-reject-all"));
  await waitFor(() => expect(server.sent[0]?.body).toMatchObject({ items: [{ id: "r1", decision: "reject", message: "guessed" }, { id: "r2" }] }));
});

test("another question can be asked while proposals wait", async () => {
  const user = userEvent.setup();
  proposes(["r1"]);
  show(<LearningPage id="learn-1" />);
  await screen.findByTestId("decide-approve");
  await user.type(screen.getByTestId("message-box"), "And oak?");
  await user.click(screen.getByTestId("send"));
  await waitFor(() => expect(screen.getAllByTestId("question").map(({ textContent }) => textContent)).toEqual(["How do I clamp a tenon?", "And oak?"]));
  expect(screen.getByTestId("decide-approve")).toBeTruthy();
});

test("a question that did not arrive is said so, and stays to be sent again", async () => {
  const user = userEvent.setup();
  server.conversation = aConversation({});
  server.refusal = [503, { code: "unavailable" }];
  show(<LearningPage id="learn-1" />);
  await screen.findByTestId("answer");
  await user.type(screen.getByTestId("message-box"), "And oak?");
  await user.click(screen.getByTestId("send"));
  expect((await screen.findByTestId("error")).textContent).toContain("busy");
  await waitFor(() => expect((screen.getByTestId("message-box") as HTMLTextAreaElement).value).toBe("And oak?"));
  expect(screen.getAllByTestId("question")).toHaveLength(1);
});

test("what became of a proposal stays on its card, with the version that holds it", async () => {
  const insights = [
    anInsight({ id: "a", status: "learned", version: 4 }), anInsight({ id: "b", status: "rejected", reason: "guessed" }),
  ];
  server.conversation = aConversation({ turns: [aTurn({ insights, suppressed: [{ text: "Never clamp.", reason: "wrong", at: null }], droppedQuotes: 2 })] });
  show(<LearningPage id="learn-1" />);
  const [learned, rejected] = await screen.findAllByTestId("insight");
  expect(learned?.textContent).toContain("playbook version 4");
  expect(rejected?.textContent).toContain("guessed");
});

test("proposals that were left out because they had no evidence are counted", async () => {
  server.conversation = aConversation({ turns: [aTurn({ insights: [], unsupportedInsights: 2 })] });
  show(<LearningPage id="learn-1" />);
  expect((await screen.findByTestId("unsupported-insights")).textContent).toContain("2 proposals without evidence");
  expect(screen.queryByTestId("nothing-to-learn")).toBeNull();
});

test("a run that failed says why, and the conversation can go on", async () => {
  server.conversation = aConversation({ status: "error", turns: [aTurn({ phase: "answering", response: null, error: "the provider is down" })] });
  show(<LearningPage id="learn-1" />);
  expect((await screen.findByTestId("turn-error")).textContent).toContain("the provider is down");
  expect(screen.queryByTestId("activity")).toBeNull();
  expect((screen.getByTestId("message-box") as HTMLTextAreaElement).disabled).toBe(false);
});

test("a question that was stopped before its answer says so", async () => {
  server.conversation = aConversation({ status: "idle", turns: [aTurn({ phase: "done", response: null, references: [], bullets: [], feedback: null })] });
  show(<LearningPage id="learn-1" />);
  expect(await screen.findByTestId("stopped")).toBeTruthy();
  expect(screen.queryByTestId("activity")).toBeNull();
  expect(screen.queryByTestId("say")).toBeNull();
});
