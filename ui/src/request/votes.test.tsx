import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Vote } from "../api/types";
import { aRequest, show } from "../testing/fake-server";
import { known } from "../testing/known";
import { Votes } from "./votes";

const changesBy = async (vote: Partial<Vote>) => {
  const edit = known<Vote>({ decision: "edit", responder: "bob", subject: "bob", at: "2026-01-02T10:04:00Z", ...vote });
  show(<Votes request={aRequest({ quorum: [{ count: 2 }], votes: [edit], action: { name: "refund", args: { order: 7, amount: 40 } } })} />);
  return [...(await screen.findByTestId("vote")).querySelectorAll("li")].map(({ textContent }) => textContent);
};

test("an edit lists the values that it changes, also one that it leaves out", async () => {
  expect(await changesBy({ args: { amount: 30 } })).toEqual(["order: 7→not set", "amount: 40→30"]);
});

test("the edit of a person who was erased does not seem to remove all values", async () => {
  expect(await changesBy({ args: null })).toEqual([]);
});
