import { expect, test } from "vitest";
import { aRequest } from "../testing/fake-server";
import { detail as en } from "../strings/en/detail";
import { en as shared } from "../strings/en";
import { buttonLabel, matchesTarget, targetOf } from "./decisions";
import { decisionLabel } from "./outcome";

const urgent = (args: Record<string, string | number | boolean>) =>
  aRequest({ priority: "urgent", action: { name: "drop", args } });

test.each([
  ["the first argument that names something", { force: true, name: "eu-2", n: 1 }, { label: "name", name: "eu-2" }],
  ["a number", { order: 1182 }, { label: "order", name: "1182" }],
  ["the action where no argument is short", { text: "a\nb", force: true }, { label: null, name: "drop" }],
  ["a hidden character as it is shown", { name: "eu\u200b2" }, { label: "name", name: "eu\\u{200b}2" }],
])("what is typed is %s", (_name, args, expected) => {
  expect(targetOf(urgent(args), args)).toEqual(expected);
});

test("without an action the kind is typed, and what lets nothing happen needs no name", () => {
  expect(targetOf(aRequest({ kind: "finish", priority: "high" }), {})).toEqual({ label: null, name: "finish" });
  expect(targetOf(aRequest({ kind: "form", priority: "high" }), {})).toBeNull();
  expect(targetOf(aRequest({ kind: "finish", priority: "normal" }), {})).toBeNull();
});

test("full-width digits are the same, another case is not", () => {
  const target = { label: "order", name: "Eu-1182" };
  expect([" Ｅｕ-１１８２", "eu-1182", ""].map((typed) => matchesTarget(target, typed))).toEqual([true, false, false]);
});

const strings = { ...shared, ...en };
const labels = (request: Parameters<typeof buttonLabel>[0]) => (["approve", "reject"] as const).map((decision) => buttonLabel(request, decision, strings));

test("a form is answered or declined, and a form that lets something run is approved", () => {
  const form = aRequest({ kind: "form" });
  expect(labels(form)).toEqual(["Send answer", "Decline"]);
  expect(labels(aRequest({ kind: "form", action: { name: "pay", args: {} } }))).toEqual(["Approve", "Reject"]);
  expect(labels(aRequest({ kind: "form", actions: { approve: { label: "Book it" } } }))).toEqual(["Send answer “Book it”", "Decline"]);
  expect([decisionLabel(form, "approve", strings), decisionLabel(form, "reject", strings)]).toEqual(["answered", "declined"]);
});
