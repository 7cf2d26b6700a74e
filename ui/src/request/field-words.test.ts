import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Words } from "./words";
import { ja } from "../strings/ja";
import { zh } from "../strings/zh";
import { fieldWords } from "./field-words";

const server = ["forms/fields", "forms/field_parts", "forms/form", "base/validation", "files/attachments"].map((name) => readFileSync(`../src/ringi/${name}.py`, "utf8")).join("\n");
/** What the server says, and the words of it that stand in its own code. */
const said: [message: string, inCode: string][] = [
  ["is required: answer it", "is required: answer it"],
  ["has 0 bytes: send a file of 1 to 10 bytes", "bytes: send a file of 1 to {self.max_size} bytes"],
  ["is text/plain by its bytes: send image/*", "by its bytes: send {"],
  ["is 40000 × 40000 pixels: send a smaller image", "pixels: send a smaller image"],
  ["is no attached file: attach it to this request, send what that returned", "is no attached file: attach it to this request, send what that returned"],
  ["names no file that you attached here: attach it again", "names no file that you attached here: attach it again"],
  ["20 files were attached to this request: it takes no more", "files were attached to this request: it takes no more"],
  ["the files of this request would be over 9 bytes: send a smaller one", "the files of this request would be over {most} bytes: send a smaller one"],
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
    expect(told.replaceAll(/NUL|bytes?|kB|MB/g, "")).not.toMatch(/[a-z]/i);
  }
});

test("what the page does not know stays as the server says it", () => {
  expect(fieldWords("odd as a whole", ja.detail as Words)).toBe("odd as a whole");
});
