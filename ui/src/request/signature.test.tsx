import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { aRequest, show } from "../testing/fake-server";
import { EffectLine } from "./facts";
import { isShortened, signature } from "./signature";

const command = "find /srv/data -name '*.log' -mtime +30 -delete && systemctl restart billing-worker";

test.each([
  ["a long command has the room of the agent's words", { command, description: "Clean old logs" }, `Bash(command="find /srv/data -name '*.log' -mtime +30 -delete && systemctl r…, …)`],
  ["also where the words come first", { description: "Clean old logs", command }, `Bash(command="find /srv/data -name '*.log' -mtime +30 -delete && systemctl r…, …)`],
  ["words stand behind what runs, where all of it fits", { description: "Lists files", command: "ls" }, 'Bash(command="ls", description="Lists files")'],
  ["a second line is never hidden behind words", { command: "ls\nrm -rf ~", reason: "Lists files" }, 'Bash(command="ls…, …)'],
  ["a long text leaves room for the others", { body: "x".repeat(200), to: "eve@shop.example" }, `Bash(body="${"x".repeat(30)}…, to="eve@shop.example")`],
  ["the only argument is shown, whatever its name", { comment: "Looks good" }, 'Bash(comment="Looks good")'],
])("%s", (_name, args, line) => {
  expect(signature("Bash", args)).toBe(line);
});

test.each([
  [{ description: "Clean old logs", command }, "Bash · command find /srv/data -name '*.log' -mtime +30 -delete && systemctl re… · …"],
  [{ description: "Lists files", command: "ls" }, "Bash · command ls · description Lists files"],
  [{ command: "ls", description: "x".repeat(40) }, "Bash · command ls · …"],
])("what will happen is what runs, and then the agent's words (%#)", (args, line) => {
  show(<EffectLine request={aRequest({ action: { name: "Bash", args, schema: null } })} edited={undefined} />);
  expect(screen.getByTestId("effect-call").textContent).toBe(line);
});

test("a line that cuts a value says so", () => {
  expect([{ command }, { command: "ls" }].map((args) => isShortened({ name: "Bash", args }))).toEqual([true, false]);
});
