import { expect, test } from "vitest";
import { firstWords } from "./agent-context";

test.each([
  ["a short text stays", "Two words.", 2, { start: "Two words.", words: 2, isWhole: true }],
  ["a longer one is cut before the next word", "One, two; three", 2, { start: "One, two;…", words: 2, isWhole: false }],
  ["a text without spaces has words too", "荷物が届かなかった", 2, { words: 2, isWhole: false }],
  ["nothing is left of it", "One", 0, { start: "…", words: 0, isWhole: false }],
])("%s", (_name, text, most, expected) => {
  expect(firstWords(text, most)).toMatchObject(expected);
});
