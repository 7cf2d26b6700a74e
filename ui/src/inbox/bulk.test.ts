import { expect, test } from "vitest";
import type { Person } from "../api/absences";
import type { BulkOutcome, Request } from "../api/types";
import { en } from "../strings";
import { aRequest, completedRequest } from "../testing/fake-server";
import { known, type Known } from "../testing/known";
import { toBulkStatus, toBulkItem, toBatches, bulkRefusal } from "./bulk";
import { idsBetween, extend, toggle } from "./use-inbox";

const ann = known<Person>({ deputyFor: [], name: "ann", role: "person", tenant: "default", groups: ["sales"] });
const form = (required: boolean): Known<Request> => ({
  kind: "form", form: { fields: [{ name: "note", type: "text", required, default: "ok" }] },
});
const soon = new Date(Date.now() + 60_000).toISOString();
const past = new Date(Date.now() - 60_000).toISOString();

test.each<[string, Known<Request>, string | null]>([
  ["a routine approval may be one of many", {}, null],
  ["one with a form that needs nothing too", form(false), null],
  ["a required field needs an answer of its own", form(true), en.bulkRefusals.form],
  ["a schema too", { schema: { type: "object" } }, en.bulkRefusals.form],
  ["a priority only orders", { priority: "urgent" }, null],
  ["high stakes are decided one by one", { tier: "high" }, en.bulkRefusals.tier],
  ["and so is what cannot be undone", { tier: "irreversible" }, en.bulkRefusals.tier],
  ["an insight needs a decision beside those that it may contradict", { kind: "learning" }, en.bulkRefusals.learning],
  ["medium stakes may be one of many", { tier: "medium" }, null],
  ["what cannot be approved is not for it", { allowed: ["respond", "reject"] }, en.bulkRefusals.decisions],
  ["what is given to somebody else is not", { assignee: "bob" }, en.assignedToOthers(en.assignedTo("bob"))],
  ["what is offered to my group may be", { groups: ["sales"] }, null],
  ["what another holds is not", { claimed_by: "bob", claimed_until: soon }, "claimed by bob"],
  ["what another held may be", { claimed_by: "bob", claimed_until: past }, null],
  ["what I hold may be", { claimed_by: "ann", claimed_until: soon }, null],
])("%s", (_name, changes, expected) => {
  expect(bulkRefusal(aRequest(changes), "approve", ann, en)).toBe(expected);
});

test("insights may be rejected together", () => {
  expect(bulkRefusal(aRequest({ kind: "learning" }), "reject", ann, en)).toBeNull();
});

test("what ended says how", () => {
  expect(bulkRefusal(completedRequest(aRequest({}), "bob"), "approve", ann, en)).toContain("approved by bob");
});

test("an answer is bound to what was on screen; a form sends what it showed, a rejection its reason", () => {
  expect(toBulkItem(aRequest(form(false)), "approve", "")).toEqual({
    id: "r1", digest: "sha256:abc", decision: "approve", data: { note: "ok" },
  });
  expect(toBulkItem(aRequest({}), "reject", " late ")).toEqual({ id: "r1", digest: "sha256:abc", decision: "reject", message: " late " });
  expect(toBulkItem(aRequest({}), "reject", "  ")).not.toHaveProperty("message");
});

test("what is sent is cut by number and by size", () => {
  const item = toBulkItem(aRequest({}), "reject", "");
  expect(toBatches(Array.from({ length: 250 }, () => item)).map((part) => part.length)).toEqual([100, 100, 50]);
  const long = { ...item, message: "あ".repeat(20_000) };
  expect(toBatches([long, long, long, long]).map((part) => part.length)).toEqual([3, 1]);
  expect(toBatches([])).toEqual([]);
});

test("each refusal is said in words", () => {
  const problem = (code: string, more = {}) => known<BulkOutcome>({ id: "r1", status: 409, problem: { code, detail: "it is so", ...more } });
  const winner = { decision: "reject", responder: "bob", at: "2026-01-02T10:00:00Z" };
  const why = (code: string, more = {}) => toBulkStatus(aRequest({}), problem(code, more), en).why;
  expect(why("final", { winner })).toContain("rejected by bob");
  expect(why("final")).toBe(`${en.texts.problems.final} (it is so)`);
  expect(why("digest_mismatch")).toBe(en.bulk.changed);
  expect(why("invalid", { errors: [{ field: "note", message: "too short" }] })).toBe("note: too short");
  expect(toBulkStatus(aRequest({}), known<BulkOutcome>({ id: "r1", status: 200 }), en)).toEqual({ state: "decided" });
});

const row = (id: string, can = true) => ({ id, ids: can ? [id] : [] });
const order = [row("a"), row("b"), row("c", false), row("d"), row("e")];
const nothing = { ids: new Set<string>(), base: new Set<string>() };

test("a range takes what can be selected, from either end", () => {
  expect(idsBetween(order, "b", "e")).toEqual(["b", "d", "e"]);
  expect(idsBetween(order, "d", "a")).toEqual(["a", "b", "d"]);
  expect(idsBetween(order, "gone", "a")).toEqual([]);
});

test("a range that shrinks gives back what it took, and keeps what was selected before", () => {
  const chosen = toggle(toggle(nothing, "a"), "d");
  const wide = extend(chosen, order, "e");
  expect([...wide.ids]).toEqual(["a", "d", "e"]);
  expect([...extend(wide, order, "d").ids]).toEqual(["a", "d"]);
  expect([...toggle(wide, "a").ids]).toEqual(["d", "e"]);
});
