import { expect, test } from "vitest";
import { aRequest } from "../testing/fake-server";
import { en } from "../strings/detail";
import { en as history } from "../strings/history";
import { en as shared } from "../strings";
import type { JsonObject } from "../api/types";
import { buttonLabel, hasButton } from "./decisions";
import { decisionLabel } from "./outcome";

const strings = { ...shared, ...en, ...history };
const labels = (request: Parameters<typeof buttonLabel>[0]) => (["approve", "reject"] as const).map((decision) => buttonLabel(request, decision, strings));

test("a form is answered or declined, and a form that lets something run is approved", () => {
  const form = aRequest({ kind: "form" });
  expect(labels(form)).toEqual(["Send answer", "Decline"]);
  expect(labels(aRequest({ kind: "form", action: { name: "pay", args: {} } }))).toEqual(["Approve", "Reject"]);
  expect(labels(aRequest({ kind: "form", actions: { approve: { label: "Book it" } } }))).toEqual(["Send answer", "Decline"]);
  expect(labels(aRequest({ action: { name: "pay", args: {} }, actions: { approve: { label: "Book it" } } }))).toEqual(["Approve “Book it”", "Reject"]);
  expect([decisionLabel(form, "approve", strings), decisionLabel(form, "reject", strings)]).toEqual(["answered", "declined"]);
});

test("only a form with prefilled values can be sent with changes", () => {
  const field = { name: "note", type: "text" as const, label: "Note" };
  const schema = (properties: JsonObject) => aRequest({ kind: "form", schema: { type: "object", properties } });
  const lines = { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } };
  expect([
    aRequest({ kind: "form", form: { fields: [field] } }),
    aRequest({ kind: "form", form: { fields: [{ ...field, default: "a" }] } }),
    schema({ n: { type: "integer" } }), schema({ n: { type: "integer", default: 3 } }),
    schema({ lines }), schema({ lines, city: { type: "string", default: "Nara" } }),
    aRequest({ kind: "approval", action: { name: "pay", args: {} } }),
  ].map((request) => hasButton(request, "edit"))).toEqual([false, true, false, true, false, true, true]);
  expect(hasButton(schema({}), "approve")).toBe(true);
  expect(hasButton({ ...schema({}), allowed: ["edit", "reject"] }, "edit")).toBe(true);
});
