import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { JsonObject, Request } from "../api/types";
import { aRequest } from "../testing/fake-server";
import type { Known } from "../testing/known";
import { choicesOf, factOf, isConfirmed, seedOf } from "./fact-question";

interface Case {
  name: string;
  digest: string;
  ask: Known<Request>;
  args: JsonObject;
  fact: [subject: string, name: string, right: string];
  choices: string[][];
}
const cases = JSON.parse(readFileSync("../tests/cli/facts.json", "utf8")) as Case[];

test.each(cases)("the terminal asks the same: $name", ({ digest, ask, args, fact, choices }) => {
  const request = aRequest({ ...ask, tier: "irreversible", digest });
  const found = factOf(request, args);
  expect(found && [found.subject, found.name, found.right]).toEqual(fact);
  expect(found && [0, 1].map((wrong) => choicesOf(found, seedOf(request) + wrong))).toEqual(choices);
});

test("only the tier asks for more work", () => {
  const action = { name: "drop", args: { to: "live" } };
  for (const tier of [null, "low", "medium"] as const) expect(isConfirmed(aRequest({ action, tier, priority: "urgent" }))).toBe(false);
  const high = aRequest({ action, tier: "high", priority: "low" });
  expect([isConfirmed(high), factOf(high, action.args)]).toEqual([true, null]);
  expect(isConfirmed(aRequest({ kind: "form", tier: "irreversible" }))).toBe(false);
});
