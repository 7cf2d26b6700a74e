import { expect, test } from "vitest";
import { differences } from "./value-diff";
import { textSegments } from "./text-diff";

test("a nested change is named by its path, and nothing else is", () => {
  const before = { lines: [{ sku: "A", n: 1 }, { sku: "B", n: 2 }], to: { "first name": "Ann" }, x: null };
  const after = { lines: [{ sku: "A", n: 1 }, { sku: "B", n: 3 }], to: { "first name": "Bob" }, x: null };
  expect(differences(before, after)).toEqual([
    { path: "lines[1].n", before: 2, after: 3 },
    { path: 'to["first name"]', before: "Ann", after: "Bob" },
  ]);
});

test("an item put in front of a list is one change, not a change of each item", () => {
  expect(differences(["b", "c"], ["a", "b", "c"])).toEqual([{ path: "[0]", before: undefined, after: "a" }]);
  expect(differences(["a", "b", "c"], ["a", "c"])).toEqual([{ path: "[1]", before: "b", after: undefined }]);
});

test("a value that changes its type is one change", () => {
  expect(differences({ a: [1] }, { a: { b: 1 } })).toEqual([{ path: "a", before: [1], after: { b: 1 } }]);
});

const unchanged = (text: string) => ({ kind: "unchanged", text });
const removed = (text: string) => ({ kind: "removed", text });
const added = (text: string) => ({ kind: "added", text });

test("of two texts only the words that differ are marked", () => {
  expect(textSegments("the parcel was late today, sorry", "the parcel was never sent today, very sorry")).toEqual([
    unchanged("the parcel was "), removed("late "), added("never sent "), unchanged("today, "), added("very "), unchanged("sorry"),
  ]);
  const [before, after] = ["海の俳句を書く", "山の俳句を書く"];
  expect(textSegments(before, after)).toEqual([removed("海"), added("山"), unchanged("の俳句を書く")]);
});

test.each([["", "added"], ["old", ""], ["aa", "aaa"], ["👩‍👩‍👧 ok", "👩‍👩‍👦 ok"]])(
  "%j and %j are both whole in what is shown", (before, after) => {
    const without = (other: string) => textSegments(before, after).filter(({ kind }) => kind !== other);
    const written = (other: string) => without(other).map(({ text }) => text).join("");
    expect([written("added"), written("removed")]).toEqual([before, after]);
  },
);

test("two very long texts are compared without holding up the page", () => {
  const long = Array.from({ length: 3_000 }, (_, index) => `a${index}`).join(" ");
  const pieces = textSegments(`start ${long} end`, `start ${long.toUpperCase()} end`);
  expect(pieces.map(({ kind }) => kind)).toEqual(["unchanged", "removed", "added", "unchanged"]);
});
