import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { RequestStrings } from "../strings/use-request-strings";
import { detail as english } from "../strings/en/detail";
import { ja } from "../strings/ja";
import { zh } from "../strings/zh";
import { translateFieldMessage } from "./field-messages";

/** The JSON Schema errors that a server test pins. */
const { errors: schemaErrors } = JSON.parse(readFileSync("../tests/forms/schema_errors.json", "utf8")) as { errors: [unknown, unknown, string][] };

const server = ["forms/fields", "forms/field_parts", "forms/form", "domain/request", "forms/json_schema", "base/validation", "files/attachments"].map((name) => readFileSync(`../src/ringi/${name}.py`, "utf8")).join("\n");
/** Each message of the server, with the part of it that the source contains. */
const messages: [message: string, inCode: string][] = [
  ["is required: answer it", "is required: answer it"],
  ["has 0 bytes: send a file of 1 to 10 bytes", "bytes: send a file of 1 to {self.max_size} bytes"],
  ["is text/plain by its content: send image/*", "by its content: send {"],
  ["is 40000 × 40000 pixels: send a smaller image", "pixels: send a smaller image"],
  ["is not an attached file: attach it to this request and send the returned reference", "is not an attached file: attach it to this request and send the returned reference"],
  ["is not a file that you attached here: attach it again", "is not a file that you attached here: attach it again"],
  ["20 files were attached to this request: it accepts no more", "files were attached to this request: it accepts no more"],
  ["the files of this request would exceed 9 bytes: send a smaller file", "the files of this request would exceed {most} bytes: send a smaller file"],
  ["has 2 characters, at least 5 are needed: write more", "characters, at least {least} are needed: write more"],
  ["has 9 characters, at most 5 are allowed: shorten it", "characters, at most {most} are allowed: shorten it"],
  ["2 is below 3: send at least 3", "is below {self.min}: send at least {self.min}"],
  ["9.5 is above 3.5: send at most 3.5", "is above {self.max}: send at most {self.max}"],
  ["2 is not on a step: use steps of 5", "is not on a step: use steps of {self.step}"],
  ["2 is not on a step: use steps of 5 from 1", "is not on a step: use steps of {self.step}"],
  ["'2026-01-01' is too early: send 2026-02-01 or later", "is too early: send {self.min} or later"],
  ["'2026-01-01' is too late: send 2025-02-01 or earlier", "is too late: send {self.max} or earlier"],
  ["'2026-02-31' is not a valid date: send an existing day as YYYY-MM-DD", "is not a valid date: send an existing day as YYYY-MM-DD"],
  ["'x' is not an option: choose from 'a', 'b'", "is not an option: choose from "],
  ["'a' is a duplicate: send each option once", "is a duplicate: send each option once"],
  ["9007199254740993 is outside ±9007199254740991, where JSON loses precision: send it as text", "where JSON loses precision: send it as text"],
  ["contains a NUL character: remove it", "contains a NUL character: remove it"],
  ["contains an unpaired surrogate at index 3: send valid Unicode text", "contains an unpaired surrogate at index {"],
  ["must be a number, not 'x': send it without quotes", ": send it without quotes"],
  ["must be text, not 5: send it in quotes", ": send it in quotes"],
  ["must be true or false, not 'x': send one of the two", ": send one of the two"],
  ["must be a list, not 'x': send ['a', …]", "must be a list, not {"],
  ["is not a field of this form: remove it", "is not a field of this form: remove it"],
  ["is required: write a message", "is required: write a message"],
  ["is required: enter the new task as text", "is required: enter the new task as text"],
  ["is larger than 9 bytes: shorten it", "bytes: shorten it"],
  ["does not match the schema and is too large to locate the error: send less", "does not match the schema and is too large to locate the error: send less"],
];

test.each(messages)("%s: the page translates the message of the server", (message, inCode) => {
  expect(server).toContain(inCode);
  for (const { detail } of [ja, zh]) {
    const translated = translateFieldMessage(message, detail as RequestStrings);
    expect(translated.replaceAll(/NUL|bytes?|kB|MB/g, "")).not.toMatch(/[a-z]/i);
  }
});

test.each(schemaErrors)("the page translates the error of the schema %j", (_schema, _value, message) => {
  for (const detail of [english, ja.detail, zh.detail]) {
    const translated = translateFieldMessage(message, detail as RequestStrings);
    expect(translated).not.toBe(message);
    if (detail !== english) expect(translated).not.toMatch(/[a-z]{2}/i);
  }
});

test("a long value in an error of a schema stays out of the translation", () => {
  expect(translateFieldMessage(`"${"a".repeat(99)}…${"b".repeat(99)}" is longer than 2 characters: send a value that fits`, ja.detail as RequestStrings)).toBe("2 文字以内で入力してください。");
});

test("an unknown message is not translated", () => {
  expect(translateFieldMessage("odd as a whole", ja.detail as RequestStrings)).toBe("odd as a whole");
});
