import { expect, test } from "vitest";
import type { Json, JsonObject } from "../api/types";
import { clipText, clipTree, isClipped } from "./expansion";
import { mailOf, shapeOf } from "./shape";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const pdf = `JVBERi0xLjQK${"A".repeat(80)}`;
const patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
const rows = [{ sku: "A", n: 1 }, { n: 2, sku: "B" }];
const long = "word ".repeat(60);

const cases: [string, Json, JsonObject | null, string][] = [
  ["note", "sorry", null, "plain"],
  ["note", long, null, "text"],
  ["note", "two\nlines", null, "text"],
  ["note", long, { contentMediaType: "text/markdown" }, "markdown"],
  ["q", "SELECT * FROM orders", null, "code sql"],
  ["q", "select the best option", null, "plain"],
  ["q", "UPDATE orders SET (paid, sent) = (true, false)", null, "code sql"],
  ["q", "UPDATE orders SET \"was paid\" = true", null, "code sql"],
  ["q", "UPDATE orders AS o\nSET o.paid = true", null, "code sql"],
  ["q", "update orders o set paid=true", null, "code sql"],
  ["q", "update the data set today", null, "plain"],
  ["sql", `EXPLAIN ${long}`, null, "code sql"],
  ["q", "drop it", { contentMediaType: "application/sql" }, "code sql"],
  ["page", "<b>x</b>", { contentMediaType: "text/html" }, "code markup"],
  ["patch", patch, null, "diff"],
  ["lines", rows, null, "table"],
  ["lines", [...rows, { sku: "C" }], null, "tree"],
  ["lines", [{ a: [1] }], null, "tree"],
  ["logo", pixel, null, "image"],
  ["logo", `data:image/png;base64,${pixel}`, null, "image"],
  ["logo", "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+", null, "plain"],
  ["logo", "PHN2Zz4=", { contentMediaType: "image/png" }, "plain"],
  ["bill", pdf, null, "pdf"],
  ["site", "https://example.org/x", null, "link"],
  ["site", "javascript:alert(1)", { format: "uri" }, "plain"],
  ["site", "//evil.example", { format: "uri" }, "plain"],
  ["mail", { to: ["a@b.c"], subject: "Hi", body: "x" }, null, "mail"],
  ["mail", { to: "a@b.c", subject: "Hi" }, null, "tree"],
  ["toString", "x", { format: "constructor", contentMediaType: "__proto__" }, "plain"],
];

test.each(cases)("%s %j is drawn by the type that its schema %j declares, or by what it looks like", (name, value, schema, expected) => {
  const shape = shapeOf(name, value, schema);
  expect(shape.kind === "code" ? `code ${shape.language}` : shape.kind).toBe(expected);
});

test("a mail names every argument that it shows, and no other", () => {
  expect(mailOf({ to: "a", cc: ["b"], bcc: [1], subject: "s", html: "<p>", text: "t", priority: 1 })).toEqual({
    people: [["to", ["a"]], ["cc", ["b"]]], subject: "s", bodies: [["text", "t"], ["html", "<p>"]],
  });
});

test("what is cut is counted, and the last level cuts nothing", () => {
  const lines = Array.from({ length: 58 }, (_, n) => `line ${n}`).join("\n");
  expect(clipText(lines, 0).hidden).toMatchObject({ lines: 34 });
  expect(clipText(lines, 1).hidden).toBeNull();
  expect(clipText("x".repeat(3_000), 0)).toMatchObject({ text: "x".repeat(2_400), hidden: { lines: 0, characters: 600 } });
  const large = "x\n".repeat(500_000);
  expect(clipText(large, 3)).toEqual({ text: large, hidden: null });
  expect(clipText(`${"x".repeat(2_399)}😀${"y".repeat(400)}`, 0).text.endsWith("x")).toBe(true);
});

test("a tree shows its upper values first, and counts those that it leaves out", () => {
  const deep = { a: Array.from({ length: 100 }, (_, n) => n), b: { c: 1 } };
  const tree = clipTree(deep, 0);
  expect(tree.parts?.map(({ parts, hidden }) => [parts?.length, hidden])).toEqual([[58, 42], [0, 1]]);
  expect(isClipped(tree)).toBe(true);
  expect(isClipped(clipTree(deep, 1))).toBe(false);
});
