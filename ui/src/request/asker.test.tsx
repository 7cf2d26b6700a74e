import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { aRequest, serve, show } from "../testing/fake-server";
import { RequestHeader } from "./heading";

test.each([
  ["a run for the person who started it", { agent: "refund-agent", asked_by: "ann" }, "refund-agent asks for ann"],
  ["a run that another token asks for", { agent: "refund-agent", starter: "ann", asked_by: "root" }, "refund-agent asks for ann (token root)"],
  ["a run of a run", { agent: "refund-agent", starter: "ann", asked_by: "thread:t1" }, "refund-agent asks for ann"],
  ["a client with its own token", { agent: "claude-code", asked_by: "agent:laptop", context: { client: "claude-code" } }, "Claude Code asks (token agent laptop)"],
  ["an agent by its own token", { agent: "agent:bot", asked_by: "agent:bot" }, "asked by agent bot"],
  ["an agent that is called so", { agent: "agent:agent", asked_by: "agent:agent" }, "asked by agent"],
  ["a request of before", { asked_by: "root" }, "asked by root"],
  ["a name that reorders others", { agent: "a\u202eb", asked_by: "ann" }, "a\\u{202e}b asks for ann"],
])("the header says which agent asks for whom: %s", (_name, changes, text) => {
  serve(() => [200, {}]);
  show(<RequestHeader id="t" request={aRequest(changes)} focus={false} threadLink={false} />);
  expect(screen.getByTestId("asker").textContent).toBe(text);
});

const call = { name: "pay", args: { amount: 4000 } };
const own = { title: "Run pay?", wording: { title: [{ code: "run_tool", params: { tool: "pay" } }] } };

test.each([
  ["an agent's title of a call", { action: call }, "The agent says: Refund order 1182?"],
  ["a sentence of Ringi that anybody may send", { action: call, ...own }, "The agent says: Run pay?"],
  ["the title of a rule", { action: call, policy: { rule: "pay", digest: "sha256:a" } }, "Refund order 1182?"],
  ["a question without a call", {}, "Refund order 1182?"],
])("the title of a call is marked if the agent wrote it: %s", (_name, changes, text) => {
  serve(() => [200, {}]);
  show(<RequestHeader id="t" request={aRequest(changes)} focus={false} threadLink={false} />);
  expect(screen.getByRole("heading").textContent).toBe(text);
});
