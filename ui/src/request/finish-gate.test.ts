import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Strings } from "../strings";
import { en } from "../strings/en";
import { ja } from "../strings/ja";
import { zh } from "../strings/zh";
import { translateGateText } from "./finish-gate";

const server = readFileSync("../src/ringi/integrations/langchain/finish_gate.py", "utf8");
const howTo = "Say yes (y, はい, 是) to complete, or update (u, 更新) for another task.";
/** Each question of the server, with the parts of it that the source contains. */
const questions: [text: string, inCode: string[]][] = [
  ["Is this finished: 俳句を書く", ["Is this finished", "{how}: {"]],
  ["Is this finished: a task without words", ["a task without words"]],
  ["Stopped before its end: 俳句を書く", ["Stopped before its end"]],
  ["What is the new task?", ["What is the new task?"]],
  ["Is the task before completed?", ["Is the task before completed?"]],
  [`“maybe” is no decision here. ${howTo}`, ["” is no decision here. {HOW_TO}", howTo]],
  ["It was sent on 50 times: complete it, or reject it for good.", ["It was sent on {", "} times: complete it, or reject it for good."]],
  ["Nobody decided: the question before this one was expired.", ["Nobody decided: the question before this one was {"]],
  ["the limit of steps of one run was reached", ["the limit of steps of one run was reached"]],
  ["Then this begins, with nothing but its hand-over:\n\nもっと", ["Then this begins, with nothing but its hand-over:\\n\\n"]],
];
/** The words for consent are the same in every language. */
const latin = (text: string) => text.replaceAll(/yes|update|\b[yu]\b|maybe/g, "").match(/[a-z]+/i);

test.each(questions)("%s: the page translates the question of the server", (text, inCode) => {
  for (const part of inCode) expect(server).toContain(part);
  for (const strings of [ja, zh] as Strings[]) {
    const translated = translateGateText(text, { kind: "finish" }, strings);
    expect(translated).not.toBe(text);
    expect(latin(translated)).toBeNull();
  }
});

test("an answer and a task are not translated", () => {
  expect(translateGateText("Is this finished: Is this finished: x", { kind: "finish" }, ja as Strings)).toContain("Is this finished: x");
  expect(translateGateText(`“はい?” is no decision here. ${howTo}`, { kind: "finish" }, en as Strings)).toContain("“はい?”");
});

test.each(["approval", "form"] as const)("an agent's text in a request of kind %s is not translated", (kind) => {
  expect(translateGateText("Is this finished: x", { kind }, ja as Strings)).toBe("Is this finished: x");
});

test("the page translates the title of a learning proposal but not its text", () => {
  expect(readFileSync("../src/ringi/engrammer/learning.py", "utf8")).toContain("Learn: “{");
  expect(translateGateText("Learn: “Clamp first”", { kind: "learning" }, ja as Strings)).toBe("学習：「Clamp first」");
  expect(translateGateText("Learn: “Clamp first”", { kind: "approval" }, ja as Strings)).toBe("Learn: “Clamp first”");
});
