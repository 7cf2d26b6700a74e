import { expect, test } from "vitest";
import { visible, visibleJson, visibleSource } from "./visible";

test.each([
  ["a bidi override", "pay\u202Eexe.bob", "pay\\u{202e}exe.bob"],
  ["bidi isolates", "\u2066x\u2069", "\\u{2066}x\\u{2069}"],
  ["a zero-width space", "de\u200Blete", "de\\u{200b}lete"],
  ["a soft hyphen", "de\u00ADlete", "de\\u{ad}lete"],
  ["a tag character of the supplementary planes", "ok\u{E0041}", "ok\\u{e0041}"],
  ["a variation selector of the supplementary planes", "a\u{E0100}", "a\\u{e0100}"],
  ["a supplementary private-use character", "\u{10FFFD}", "\\u{10fffd}"],
  ["a Hangul filler", "a\u3164b", "a\\u{3164}b"],
  ["a blank Braille pattern", "\u2800", "\\u{2800}"],
  ["a control character", "a\u0000\u001B[31m", "a\\u{0}\\u{1b}[31m"],
  ["a carriage return that would overwrite a line", "safe\rrm -rf", "safe\\u{d}rm -rf"],
  ["a lone surrogate", "\uD83D", "\\u{d83d}"],
  ["a line separator", "a\u2028b", "a\\u{2028}b"],
  ["a tower of marks above its fourth", "Z\u0300\u0301\u0302\u0303\u0304\u0305", "Z\u0300\u0301\u0302\u0303\\u{304}\\u{305}"],
  ["a joiner outside an emoji", "a\u200Db", "a\\u{200d}b"],
  ["a colour selector outside an emoji", "a\uFE0F", "a\\u{fe0f}"],
])("%s is written out", (_name, text, shown) => {
  expect(visible(text)).toBe(shown);
});

test.each([
  ["ordinary text", "Refund ¥4,000 (late) – “ok”"],
  ["Japanese with an ideographic space", "注文　番号 1182"],
  ["letters with marks of their own", "Tiếng Việt, ที่, שָׁלוֹם, क्षि"],
  ["line breaks and tabs", "a\n\tb\r\nc"],
  ["an emoji of the supplementary planes", "👍🏽 😀"],
  ["an emoji family with its joiners", "👩‍👩‍👧"],
  ["an emoji with its colour selector", "⚠️ ❤️"],
])("%s stays as it is", (_name, text) => {
  expect(visible(text)).toBe(text);
});

test("a text and a number of the same digits look different", () => {
  expect([visibleJson("5"), visibleJson(5)]).toEqual(['"5"', "5"]);
});

test("what hides deep in a nested value is written out too", () => {
  expect(visibleJson({ to: ["a\u202Eb"] })).toContain("a\\u{202e}b");
});

test("JSON to edit shows what hides in it and is still the same value", () => {
  const value = { "to\u202E": ["ok\u{E0041}", "Z\u0300\u0301\u0302\u0303\u0304", "\uD83D", "👩‍👩‍👧 ⚠️", "a\rb"] };
  const source = visibleSource(value);
  expect(JSON.parse(source)).toEqual(value);
  expect(source).toContain("to\\u202e");
  expect(visible(source.replaceAll("\n", ""))).toBe(source.replaceAll("\n", ""));
});
