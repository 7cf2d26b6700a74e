import { expect, test } from "vitest";
import { guessRatio, openPdf } from "./pdf-pages";

const A4 = 1 / Math.SQRT2;

test.each([
  ["a page of its own size", "1 0 obj << /MediaBox [0 0 300 600] >>", 0.5],
  ["numbers with signs and fractions", "/MediaBox[ -10.5 +20 89.5 70 ]", 2],
  ["the first of two", "/MediaBox [0 0 100 100] /MediaBox [0 0 300 600]", 1],
  ["no size in sight", "%PDF-1.7", A4],
  ["a page without height", "/MediaBox [0 0 300 0]", A4],
  ["a page upside down", "/MediaBox [0 0 300 -600]", A4],
  ["too few numbers", "/MediaBox [0 0 300]", A4],
])("the room of a page follows from the bytes: %s", (_name, text, ratio) => {
  expect(guessRatio(new TextEncoder().encode(text))).toBeCloseTo(ratio);
});

test("a file over the limit is not even loaded", async () => {
  await expect(openPdf(new Uint8Array(20 * 1024 * 1024 + 1), true)).rejects.toMatchObject({ problem: "large" });
});
