import { expect, test } from "vitest";
import { sumOf } from "../base/numbers";
import { inexactNumber, parseExact } from "./json-input";
import { notationOf, readNumber, writeNumber } from "./number-text";

const read = (language: string, text: string) => {
  const reading = readNumber(text, notationOf(language));
  if (reading.kind === "ambiguous") return [reading.whole, reading.decimal];
  return reading.kind === "number" ? reading.value : reading.kind;
};

test.each([
  ["de-DE", "19,99", 19.99], ["de-DE", "1.234,56", 1234.56], ["de-DE", "1.234.567", 1234567], ["de-DE", "0,234", 0.234], ["de-DE", "-19,9", -19.9],
  ["de-DE", "19.99", "notation"], ["de-DE", "1,234.56", "notation"], ["de-DE", "1.23", "notation"], ["de-DE", "1,2,3", "notation"], ["de-DE", "0.234", "notation"],
  ["de-DE", "1.234", [1234, 1.234]], ["de-DE", "1,234", [1234, 1.234]], ["de-DE", "-1.234", [-1234, -1.234]],
  ["en-US", "1,234.56", 1234.56], ["en-US", "19,99", "notation"], ["en-US", "1.234,56", "notation"], ["en-US", "1.234", [1234, 1.234]], ["en-US", "1,234", [1234, 1.234]],
  ["en-US", "1234.567", 1234.567], ["en-US", "12,34,567", "notation"], ["en-US", "0.125", 0.125], ["en-US", "1,2345", "notation"],
  ["fr-FR", "1 234,56", 1234.56], ["fr-FR", "1\u202F234,56", 1234.56], ["fr-FR", "1\u00A0234", 1234], ["fr-FR", "1.234", "notation"], ["fr-FR", "1,234", [1234, 1.234]],
  ["de-CH", "1’234.56", 1234.56], ["de-CH", "1'234", 1234],
  ["en-IN", "12,34,567.5", 1234567.5], ["hi-IN", "1,23,456", 123456], ["en-IN", "1,234,567", 1234567], ["en-IN", "12,34", "notation"], ["hi-IN", "१२.५", 12.5],
  ["ja-JP", "１２３", 123], ["ja-JP", "１，２３４，５６７．５", 1234567.5], ["ja-JP", "１。５", 1.5], ["zh-CN", "－１２３", -123], ["de-DE", "１９，９９", 19.99],
  ["ar-EG", "١٢٫٥", 12.5], ["ar-EG", "12.5", 12.5],
  ["en-US", "", "empty"], ["en-US", "-", "notation"], ["en-US", "10²", "notation"], ["en-US", "½", "notation"], ["en-US", "1e5", "notation"], ["en-US", "5-3", "notation"], ["en-US", "$5", "notation"],
  ["en-US", "9007199254740991", 9007199254740991], ["en-US", "9007199254740993", "too-large"], ["en-US", "9".repeat(500), "too-large"],
  ["en-US", "0.12345678901234567891", "too-precise"], ["en-US", "1.10", 1.1], ["en-US", "0.1", 0.1], ["not a language!", "1,234.5", 1234.5],
])("in %s, %s is read as %s", (language, text, expected) => {
  expect(read(language, text)).toEqual(expected);
});

test("each notation shows its own example", () => {
  const examples = ["de-DE", "en-US", "fr-FR", "hi-IN"].map((language) => notationOf(language).example.replaceAll(/\s/g, " "));
  expect(examples).toEqual(["1.234,56", "1,234.56", "1 234,56", "1,234.56"]);
});

test("a written number is read as the same number, however large or small", () => {
  for (const language of ["de-DE", "en-IN", "fr-FR", "ar-EG"]) {
    for (const value of [0, 1, -1, 0.1, 19.99, 1234567.891, 1e-7, -2.5e-10, Number.MAX_SAFE_INTEGER, 1e21, 1.7976931348623157e308, 5e-324]) {
      expect(read(language, writeNumber(value, notationOf(language))), `${value} in ${language}`).toBe(value);
    }
  }
});

test.each([
  ['{"a": 9007199254740993}', 6], ["[1, 0.12345678901234567891]", 4], ['{"a": "9007199254740993", "b": 1.50, "c": 1e22}', null], ["1e400", 0], ["-1e-999", 0], ['["\\"9007199254740993"]', null],
])("JSON %s keeps its digits or says where it cannot", (json, offset) => {
  expect(inexactNumber(json)?.offset ?? null).toBe(offset);
  expect(parseExact(json) === undefined).toBe(offset !== null);
});

test("amounts are added as decimals", () => {
  expect(sumOf([0.1, 0.2])).toBe(0.3);
  expect(sumOf([1.005, 2.01, -0.005])).toBe(3.01);
  expect(sumOf([1e21, 1e-7, -1e21])).toBe(1e-7);
  expect(sumOf([])).toBe(0);
});
