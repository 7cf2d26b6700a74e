import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Words } from "./words";
import { ja } from "../strings/ja";
import { zh } from "../strings/zh";
import { fieldWords } from "./field-words";

const server = ["field", "form", "misfit"].map((name) => readFileSync(`../src/ringi/${name}.py`, "utf8")).join("\n");
/** What the server says, and the words of it that stand in its own code. */
const said: [message: string, inCode: string][] = [
  ["is required: answer it", "is required: answer it"],
  ["has 2 characters, at least 5 are needed: write more", "characters, at least {least} are needed: write more"],
  ["has 9 characters, at most 5 are allowed: shorten it", "characters, at most {most} are allowed: shorten it"],
  ["2 is below 3: send at least 3", "is below {self.min}: send at least {self.min}"],
  ["9.5 is above 3.5: send at most 3.5", "is above {self.max}: send at most {self.max}"],
  ["2 is between the steps: count in steps of 5", "is between the steps: count in steps of {self.step}"],
  ["2 is between the steps: count in steps of 5 from 1", "is between the steps: count in steps of {self.step}"],
  ["'2026-01-01' is too early: send 2026-02-01 or later", "is too early: send {self.min} or later"],
  ["'2026-01-01' is too late: send 2025-02-01 or earlier", "is too late: send {self.max} or earlier"],
  ["'2026-02-31' is no day: send one that exists, as YYYY-MM-DD", "is no day: send one that exists, as YYYY-MM-DD"],
  ["'x' is not an option: choose from 'a', 'b'", "is not an option: choose from "],
  ["'a' is there twice: send each option once", "is there twice: send each option once"],
  ["9007199254740993 is beyond ±9007199254740991, where JSON loses digits: send it as text", "where JSON loses digits: send it as text"],
  ["holds a NUL character: remove it", "holds a NUL character: remove it"],
];

test.each(said)("%s: said in the language of the page, as the server says it", (message, inCode) => {
  expect(server).toContain(inCode);
  for (const { detail } of [ja, zh]) {
    const told = fieldWords(message, detail as Words);
    expect(told.replaceAll("NUL", "")).not.toMatch(/[a-z]/i);
  }
});

test("what the page does not know stays as the server says it", () => {
  expect(fieldWords("odd as a whole", ja.detail as Words)).toBe("odd as a whole");
});
