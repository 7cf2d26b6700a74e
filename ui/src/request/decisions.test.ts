import { expect, test } from "vitest";
import { aRequest } from "../testing/fake-server";
import { detail as en } from "../strings/en/detail";
import { en as shared } from "../strings/en";
import { buttonLabel } from "./decisions";
import { decisionLabel } from "./outcome";

const strings = { ...shared, ...en };
const labels = (request: Parameters<typeof buttonLabel>[0]) => (["approve", "reject"] as const).map((decision) => buttonLabel(request, decision, strings));

test("a form is answered or declined, and a form that lets something run is approved", () => {
  const form = aRequest({ kind: "form" });
  expect(labels(form)).toEqual(["Send answer", "Decline"]);
  expect(labels(aRequest({ kind: "form", action: { name: "pay", args: {} } }))).toEqual(["Approve", "Reject"]);
  expect(labels(aRequest({ kind: "form", actions: { approve: { label: "Book it" } } }))).toEqual(["Send answer “Book it”", "Decline"]);
  expect([decisionLabel(form, "approve", strings), decisionLabel(form, "reject", strings)]).toEqual(["answered", "declined"]);
});
