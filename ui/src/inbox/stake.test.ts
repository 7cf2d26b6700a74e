import { expect, test } from "vitest";
import { aRequest } from "../testing/fake-server";
import { amountText, totalsOf } from "./stake";

const paid = (amount: number, unit: string) => aRequest({
  action: { name: "pay", args: { amount } }, policy: { rule: "r", digest: "d", card: true }, context: { card: { amount, unit } },
});

test("amounts of one unit are added as decimals and shown with the digits of their currency", () => {
  const totals = totalsOf([paid(0.1, "EUR"), paid(0.2, "EUR"), paid(4000, "JPY"), paid(1.005, "KWD")]);
  expect(totals.map(({ sum, unit }) => amountText(sum, unit, "en"))).toEqual(["€0.30", "¥4,000", "KWD\u00A01.005"]);
  expect(totals[0]).toEqual({ unit: "EUR", count: 2, sum: 0.3, least: 0.1, greatest: 0.2 });
});
