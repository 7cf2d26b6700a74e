import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { Request } from "../../api/types";
import { RequestDetail } from "../../request/request-detail";
import { aLearning } from "../../testing/fake-learning";
import { completedRequest, FakeEventSource, serve, show } from "../../testing/fake-server";

beforeEach(() => vi.stubGlobal("EventSource", FakeEventSource));

function open(request: Request) {
  const sent = serve((path) => {
    if (path.endsWith("/respond")) return [200, completedRequest(request)];
    if (path.startsWith("/v1/requests/")) return [200, request];
    if (path === "/v1/session") return [200, { name: "ann", role: "person", tenant: "default", groups: [] }];
    return [200, { items: [], next: null }];
  });
  show(<RequestDetail id={request.id} />);
  return sent;
}

test("a proposal shows what would be learned, what it rests on and what it costs, and the agent's words apart", async () => {
  open(aLearning({ evidence: [{ where: "note", ref: "woodworking_db/joint-012", quote: "cheeks first" }] }));
  expect((await screen.findByTestId("learn-text")).querySelector("ins")?.textContent).toBe("Clamp the cheeks of a tenon before the shoulders.");
  expect(screen.getByTestId("token-cost").textContent).toBe("+14 tokens, 7000 left");
  expect(screen.getByTestId("evidence").textContent).toContain("cheeks first");
  expect(screen.getByTestId("ref").dataset).toMatchObject({ source: "woodworking_db", note: "joint-012" });
  expect(screen.getByTestId("why-learn").textContent).toContain("not checked");
  expect(screen.queryByTestId("context")).toBeNull();
  expect(screen.queryByTestId("signature")).toBeNull();
});

test("what nobody but the agent has judged says so", async () => {
  open(aLearning());
  const judged = await screen.findByTestId("judged");
  expect(judged.dataset.source).toBe("self");
  expect(judged.textContent).toContain("judged only by the agent itself");
  expect(screen.getByTestId("no-evidence")).toBeTruthy();
});

test("feedback of a source that this page does not know counts as the agent's own opinion", async () => {
  open(aLearning({ feedback: { source: "somebody very sure", verdict: "right", text: "", by: null } }));
  expect((await screen.findByTestId("judged")).dataset.source).toBe("self");
});

test("a change of a line is shown against what stands there, and neighbours that may contradict come first", async () => {
  const similar = [
    { bullet: "b-00002", text: "Sand with the grain.", score: 0.4, flags: [] },
    { bullet: "b-00003", text: "Clamp for 30 minutes.", score: 0.9, flags: ["number"] },
  ];
  open(aLearning(
    { type: "refine_strategy", before: "Clamp the joint for thirty minutes until dry.", similar },
    { op: "edit", bullet: "b-00001", text: "Clamp the joint for sixty minutes until dry.", base: { "b-00001": "h" } },
  ));
  const text = await screen.findByTestId("learn-text");
  expect(text.querySelector("del")?.textContent?.trim()).toBe("thirty");
  expect(text.querySelector("ins")?.textContent?.trim()).toBe("sixty");
  const warned = screen.getByTestId("contradicts");
  expect(warned.textContent).toContain("b-00003");
  expect(warned.textContent).toContain("another number");
  expect(warned.compareDocumentPosition(screen.getByTestId("similar"))).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
});

test("only the text, the scope and the section can be edited, and what is written is what is sent", async () => {
  const user = userEvent.setup();
  const request = aLearning();
  const sent = open(request);
  await user.click(await screen.findByTestId("decide-edit"));
  expect(screen.getAllByTestId(/^arg-/).map(({ dataset }) => dataset.testid)).toEqual(["arg-text", "arg-applies_when", "arg-section"]);
  const box = screen.getByTestId("arg-text").querySelector("textarea");
  if (!box) throw new Error("there is no box to write in");
  await user.clear(box);
  await user.type(box, "Cheeks first.");
  await user.click(screen.getByTestId("confirm-edit"));
  await waitFor(() => expect(sent.map(({ path }) => path)).toEqual(["/v1/requests/r1/respond"]));
  expect(sent[0]?.body).toMatchObject({
    decision: "edit", digest: request.digest, args: { op: "add", section: "strategies", text: "Cheeks first.", applies_when: "", bullet: null, sources: [], base: {} },
  });
});

test.each([["for oak only", "for oak only"], ["", ""]])("a scope can be changed to %j", async (typed, scope) => {
  const user = userEvent.setup();
  const sent = open(aLearning({}, { applies_when: "for pine" }));
  expect((await screen.findByTestId("bullet-scope")).textContent).toContain("for pine");
  await user.click(await screen.findByTestId("decide-edit"));
  const box = screen.getByTestId("arg-applies_when").querySelector<HTMLElement>("input, textarea");
  if (!box) throw new Error("there is no box to write in");
  await user.clear(box);
  if (typed) await user.type(box, typed);
  await user.click(screen.getByTestId("confirm-edit"));
  await waitFor(() => expect(sent[0]?.body).toMatchObject({ decision: "edit", args: { applies_when: scope } }));
});

test("a rejection offers reasons that fit what is learned", async () => {
  const user = userEvent.setup();
  const sent = open(aLearning());
  await user.click(await screen.findByTestId("decide-reject"));
  await user.click(screen.getByText("Not true"));
  await user.click(screen.getByTestId("confirm-reject"));
  await waitFor(() => expect(sent[0]?.body).toMatchObject({ decision: "reject", message: "Not true" }));
});

test("what is asked again says why, and what does not fit says by how much", async () => {
  open(aLearning({ renewed: "changed", room: -12 }));
  expect((await screen.findByTestId("renewed")).textContent).toContain("has changed since");
  expect(screen.getByTestId("no-room").textContent).toContain("12 tokens too many");
});

test("a trial says what it won, and first what it lost", async () => {
  const trial = { cases: 4, right_before: 2, right_after: 2, wins: ["How long for PVA?"], losses: ["Which way does oak move?"], failed: null };
  open(aLearning({ trial }));
  const shown = await screen.findByTestId("trial");
  expect(shown.textContent).toContain("2 right without it, 2 with it");
  expect(Array.from(shown.querySelectorAll("li"), ({ dataset }) => dataset.loss)).toEqual(["true", "false"]);
});

test("a request of this kind that is none of ours is shown as any other", async () => {
  open({ ...aLearning(), context: { learning: "everything" } });
  expect(await screen.findByTestId("signature")).toBeTruthy();
  expect(screen.getByTestId("context")).toBeTruthy();
});
