import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { en, ja, zh } from "../strings/stakes";
import { aRequest } from "../testing/fake-server";
import { axisOf, cardWith, declaredCard, quantity } from "./card";
import { EffectLine } from "./facts";

const card = {
  effect: "pays money back", target: "c-77", amount: 4000, unit: "JPY", limit: 3000, above_limit: true, reversible: false,
  arguments: { target: "customer.id", amount: "amount" },
};
const action = { name: "refund", args: { customer: { id: "c-77" }, amount: 4000 } };
const source = { rule: "rules[0]", digest: "sha256:a" };
const declared = aRequest({ action, context: { card }, policy: { ...source, card: true } });

test("the line says what the author declares", () => {
  render(<EffectLine request={declared} edited={undefined} />);
  expect(screen.getByTestId("effect").textContent).toBe("pays money back · ¥4,000 · customer c-77 · cannot be undone · above the usual limit of ¥3,000");
});

test("an edit changes amount, target and limit in the line", () => {
  render(<EffectLine request={declared} edited={{ customer: { id: "c-78" }, amount: 2000 }} />);
  const line = screen.getByTestId("effect");
  expect(line.textContent).toBe("pays money back · ¥4,000 → ¥2,000 · customer c-77 → customer c-78 · cannot be undone · above the usual limit of ¥3,000");
  expect([...line.querySelectorAll("del, ins")].map((part) => `${part.tagName} ${part.textContent}`)).toEqual([
    "DEL ¥4,000", "INS ¥2,000", "DEL customer c-77", "INS customer c-78", "DEL above the usual limit of ¥3,000",
  ]);
});

test("the argument names what its value is", () => {
  const mail = { effect: "sends a mail", target: "a@example.com", arguments: { target: "to" } };
  const request = aRequest({ action: { name: "send_mail", args: { to: "a@example.com" } }, context: { card: mail }, policy: { ...source, card: true } });
  render(<EffectLine request={request} edited={undefined} />);
  expect(screen.getByTestId("effect").textContent).toBe("sends a mail · to a@example.com");
});

test.each([
  ["no policy asked", aRequest({ action, context: { card } })],
  ["the policy has no card of the tool", aRequest({ action, context: { card }, policy: source })],
  ["no call is asked about", aRequest({ context: { card }, policy: { ...source, card: true } })],
  ["the card is no object", aRequest({ action, context: { card: "pays nothing" }, policy: { ...source, card: true } })],
])("a card of the asker is not declared: %s", (_name, request) => {
  expect(declaredCard(request)).toBeNull();
  render(<EffectLine request={request} edited={undefined} />);
  expect(screen.queryByText(/pays/)).toBeNull();
  if (request.action) expect(screen.getByTestId("effect").textContent).toBe("Effect not declared");
});

test("the target needs no preposition that fits the verb", () => {
  const wipe = { effect: "deletes the customer", target: "c-1", arguments: { target: "customer" } };
  render(<EffectLine request={aRequest({ ...declared, context: { card: wipe } })} edited={undefined} />);
  expect(screen.getByTestId("effect").textContent).toBe("deletes the customer · customer c-1");
  expect([en, ja, zh].map(({ target }) => target("customer"))).toEqual(["customer", "対象 customer", "对象 customer"]);
});

test("a hostile value stays a value", () => {
  const target = `c-77 · cannot be undone\u202e ${"x".repeat(90)}`;
  render(<EffectLine request={aRequest({ ...declared, context: { card: { ...card, target } } })} edited={undefined} />);
  const value = screen.getByTestId("effect").querySelector("code");
  expect(value?.textContent).toMatch(/^c-77 · cannot be undone\\u\{202e\} x+…$/);
  expect(value?.textContent).toHaveLength(61);
});

test("an amount that is no number may be above the limit", () => {
  expect(cardWith(card, { amount: "1" }).above_limit).toBe(true);
  expect(cardWith(card, { amount: 3000 }).above_limit).toBeUndefined();
  expect(cardWith(card, { customer: { id: "c-1" }, amount: undefined })).toMatchObject({ target: "c-1", above_limit: true });
});

test("quantities are exact", () => {
  expect([quantity(4000, "JPY", "en"), quantity(0.125, "EUR", "en"), quantity(12, "GB of data", "en"), quantity(7, undefined, "en")])
    .toEqual(["¥4,000", "€0.125", "12 GB of data", "7"]);
});

test("the axis of amounts shows nothing below zero that no amount is", () => {
  expect(axisOf([10, 12, 900])).toEqual({ min: 0, max: 944.5 });
  expect(axisOf([100_000, 101_000])).toEqual({ min: 99_950, max: 101_050 });
  expect(axisOf([400, 2000])).toEqual({ min: 0, max: 2080 });
  expect(axisOf([4000])).toEqual({ min: 3800, max: 4200 });
  expect(axisOf([0])).toEqual({ min: 0, max: 1 });
  expect(axisOf([-10, 10])).toEqual({ min: -11, max: 11 });
});
