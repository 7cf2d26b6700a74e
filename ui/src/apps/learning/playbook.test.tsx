import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { serve, show, type Reply } from "../../testing/fake-server";
import { known, type Known } from "../../testing/known";
import { Entries, PlaybookView } from "./playbook";
import type { Bullet, Entry, Playbook } from "./api";

const at = "2026-01-02T10:00:00Z";

function aBullet(changes: Known<Bullet>): Bullet {
  return known<Bullet>({
    id: "b-00001", section: "strategies", text: "Clamp the cheeks first.", applies_when: "", isActive: true, mergedInto: null, helpful: 2, harmful: 0, used: 3, created: 2,
    changed: 2, type: "new_strategy", hash: "h1", ...changes,
  });
}

function anEntry(changes: Known<Entry>): Entry {
  return known<Entry>({
    version: 2, at, op: "add", by: "thread:learn-1", approvedBy: "ann", rejectedBy: null, requestId: "r1", threadId: "learn-1", runId: "run-1", reason: null,
    undoes: null, changes: [{ bullet: "b-00001", before: null, after: { section: "strategies", text: "Clamp the cheeks first.", applies_when: "", isActive: true, mergedInto: null } }],
    tags: [], evidence: [], text: null, refused: null, bullets: [], ...changes,
  });
}

const playbook = known<Playbook>({
  id: "engrammer", agent: "engrammer", version: 4, head: 4, tokens: 400, budget: 8000, text: "",
  bullets: [aBullet({}), aBullet({ id: "b-00002", section: "mistakes", text: "Glue ends.", hash: "h2", harmful: 1 }), aBullet({ id: "b-00003", isActive: false })],
  rejected: [{ text: "Never clamp.", at, op: "add", requestId: "r9", reason: "wrong", bullet: null }],
  measures: { proposed: 5, approved: 2, edited: 1, rejected: 1, reverted: 0, precision: 0.75 },
});

function open(onChange: Reply = [200, anEntry({ version: 5 })]) {
  const sent = serve((path, { method }) => {
    if (method === "POST") return onChange;
    if (path.includes("/history")) return [200, { items: [anEntry({ version: 3, op: "reject", changes: [], text: "Never clamp.", rejectedBy: "ben", approvedBy: null, reason: "wrong" }), anEntry({})], next: null }];
    if (path.includes("/diff")) return [200, { from: 1, to: 4, added: [{ id: "b-00002", section: "mistakes", text: "Glue ends.", applies_when: "" }], removed: [], changed: [] }];
    if (path.includes("/bullets/")) return [200, { ...aBullet({}), history: [anEntry({})] }];
    return path.startsWith("/v1/playbooks/") ? [200, playbook] : [200, { items: [], next: null }];
  });
  show(<PlaybookView id="engrammer" nameOf={(name) => name} />);
  return sent;
}

const bullet = async (id: string) => {
  const found = (await screen.findAllByTestId("bullet")).find(({ dataset }) => dataset.id === id);
  if (!found) throw new Error(`${id} is not shown`);
  return within(found);
};

test("size and accuracy stand by version, and a table has the same figures", async () => {
  open();
  const figures = await screen.findByTestId("version-figures");
  await userEvent.click(figures.querySelector("summary") as HTMLElement);
  const rows = Array.from(figures.querySelectorAll("tbody tr"), (row) => Array.from(row.children, (cell) => cell.textContent));
  expect(rows).toEqual([["3", "2", "86 %"], ["2", "2", "86 %"]]);
});

test("lines stand by section with what they did, and what was retired and refused is folded", async () => {
  open();
  await screen.findAllByTestId("bullet");
  expect((await screen.findAllByRole("heading", { level: 3 })).map(({ textContent }) => textContent)).toEqual(["Strategies 1", "Mistakes to avoid 1"]);
  expect((await bullet("b-00002")).getByTestId("harmful").textContent).toBe("misled 1");
  expect(screen.getByTestId("budget").textContent).toContain("400 of 8000 tokens");
  expect(screen.getByTestId("retired").textContent).toContain("(1)");
  expect(screen.getByTestId("refused-texts")).toBeTruthy();
});

test("an edit is bound to what was on screen", async () => {
  const user = userEvent.setup();
  const sent = open();
  await user.click((await bullet("b-00001")).getByTestId("edit-bullet"));
  await user.type(screen.getByTestId("bullet-text-box"), " Always.");
  await user.click(screen.getByTestId("save-bullet"));
  await waitFor(() => expect(sent[0]).toMatchObject({
    path: "/v1/playbooks/engrammer/changes", body: { op: "edit", bullet: "b-00001", base: "h1", text: "Clamp the cheeks first. Always.", section: "strategies" },
  }));
});

test("a person says when a bullet applies", async () => {
  const user = userEvent.setup();
  const sent = open();
  await user.click((await bullet("b-00001")).getByTestId("edit-bullet"));
  await user.type(screen.getByTestId("bullet-scope-box"), "for tenons");
  await user.click(screen.getByTestId("save-bullet"));
  await waitFor(() => expect(sent[0]?.body).toMatchObject({ op: "edit", bullet: "b-00001", base: "h1", applies_when: "for tenons" }));
});

test("what the server refuses stays to be read, with what was typed", async () => {
  const user = userEvent.setup();
  open([409, { code: "stale", detail: "b-00001 was changed by ben in version 5" }]);
  await user.click((await bullet("b-00001")).getByTestId("edit-bullet"));
  await user.type(screen.getByTestId("bullet-text-box"), " Always.");
  await user.click(screen.getByTestId("save-bullet"));
  expect((await screen.findByTestId("error")).textContent).toContain("changed by ben in version 5");
  expect((screen.getByTestId("bullet-text-box") as HTMLTextAreaElement).value).toBe("Clamp the cheeks first. Always.");
});

test("a line is retired after one more look, with a reason", async () => {
  const user = userEvent.setup();
  const sent = open();
  await user.click((await bullet("b-00002")).getByTestId("retire-bullet"));
  expect(sent).toEqual([]);
  await user.type(screen.getByTestId("change-reason"), "old");
  await user.click(screen.getByTestId("confirm-retire"));
  await waitFor(() => expect(sent[0]?.body).toEqual({ op: "retire", bullet: "b-00002", base: "h2", reason: "old" }));
});

test("the history says who let what be learned, and a step is taken back by its version", async () => {
  const user = userEvent.setup();
  const sent = open();
  await user.click(await screen.findByText("History", { selector: ".ant-segmented-item-label" }));
  const [refused, added] = await screen.findAllByTestId("entry");
  expect(refused?.textContent).toContain("ben");
  expect(within(refused as HTMLElement).queryByTestId("undo")).toBeNull();
  expect(within(added as HTMLElement).getByTestId("entry-by").textContent).toBe("approved by ann");
  await user.click(within(added as HTMLElement).getByTestId("undo"));
  await user.click(screen.getByTestId("confirm-undo"));
  await waitFor(() => expect(sent[0]?.body).toEqual({ op: "undo", version: 2 }));
});

test("a version that takes one back, or was taken back, offers no undo", async () => {
  const versions = [anEntry({ version: 7, op: "undo", undoes: 6 }), anEntry({ version: 6, op: "undo", undoes: 3 }), anEntry({ version: 5, op: "undo", undoes: 2 }), anEntry({ version: 3 }), anEntry({ version: 2 })];
  serve((path) => (path.includes("/history") ? [200, { items: versions, next: null }] : [200, playbook]));
  show(<Entries id="engrammer" head={7} />);
  const rows = await screen.findAllByTestId("entry");
  const versionsWith = (part: string) => rows.filter((row) => within(row).queryByTestId(part) !== null).map(({ dataset }) => dataset.version);
  expect(versionsWith("undo")).toEqual(["3"]);
  expect(versionsWith("taken-back")).toEqual(["6", "2"]);
});

test("a line's own history and the difference of two versions are at hand", async () => {
  const user = userEvent.setup();
  open();
  await user.click((await bullet("b-00001")).getByTestId("blame-bullet"));
  expect((await screen.findByTestId("blame")).textContent).toContain("approved by ann");
  await user.click(screen.getByText("Compare"));
  expect((await screen.findByTestId("diff-added")).textContent).toContain("Glue ends.");
});
