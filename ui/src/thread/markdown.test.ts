import { expect, test } from "vitest";
import { addressOf, parseInlines } from "./inlines";
import { parseBlocks } from "./markdown";

test.each([
  ["plain words", "just words", ["just words"]],
  ["bold", "a **b** c", ["a ", { kind: "strong", children: ["b"] }, " c"]],
  ["bold inside Japanese", "必ず**確認**です", ["必ず", { kind: "strong", children: ["確認"] }, "です"]],
  ["italics by either mark", "*a* _b_", [{ kind: "em", children: ["a"] }, " ", { kind: "em", children: ["b"] }]],
  ["code, in which nothing else is marked", "`a **b**`", [{ kind: "code", text: "a **b**" }]],
  ["code that holds a tick", "`` a`b ``", [{ kind: "code", text: "a`b" }]],
  ["a mark within a mark", "**a *b***", [{ kind: "strong", children: ["a ", { kind: "em", children: ["b"] }] }]],
  ["an escaped mark", "\\*a\\*", ["*", "a", "*"]],
])("%s", (_name, text, expected) => {
  expect(parseInlines(text)).toEqual(expected);
});

test.each(["snake_case_name", "2 * 3 * 4", "a ** b", "**not closed", "`not closed", "![alt]", "[text] (no)"])(
  "%s stays as it is", (text) => expect(parseInlines(text).join("")).toBe(text),
);

test("HTML is text", () => {
  expect(parseBlocks("<img src=x onerror=alert(1)>\n<b>no</b>")).toEqual([
    { kind: "paragraph", children: ["<img src=x onerror=alert(1)>\n<b>no</b>"] },
  ]);
});

test.each(["javascript:alert(1)", "data:text/html,x", "/v1/session", "//elsewhere.example", "https://", "vbscript:x", " https://a.example"])(
  "%s is no address to link to", (target) => expect(addressOf(target)).toBeNull(),
);

test("a link to no address is its own source", () => {
  expect(parseInlines("[ok](javascript:alert)")).toEqual(["[ok](javascript:alert)"]);
});

test("a link keeps its words and its target apart, and its host is written as it is resolved", () => {
  expect(parseInlines("[my bank](https://b\u0430nk.example/in)")).toEqual([
    { kind: "link", href: "https://xn--bnk-6cd.example/in", children: ["my bank"] },
  ]);
});

test("a bare address ends before the punctuation of its sentence", () => {
  expect(parseInlines("See https://a.example/b(c). 「https://b.example」")).toMatchObject([
    "See ", { href: "https://a.example/b" }, "(c). 「", { href: "https://b.example/" }, "」",
  ]);
});

test("an image is words and a link, and is never loaded", () => {
  expect(parseInlines("![cat](https://a.example/cat.png)")).toMatchObject(["!", { kind: "link", children: ["cat"] }]);
});

test("blocks in a row", () => {
  const kinds = parseBlocks("# Title\ntext\n- one\n- two\n\n1. first\n2. second\n> said\n\n---\n```js\n**code**\n```\nend").map(({ kind }) => kind);
  expect(kinds).toEqual(["heading", "paragraph", "list", "list", "quote", "rule", "code", "paragraph"]);
});

test("a list keeps its first number and its inner lists", () => {
  expect(parseBlocks("3. a\n   - b\n   - c\n4. d")).toEqual([{
    kind: "list", start: 3, items: [
      [{ kind: "paragraph", children: ["a"] }, {
        kind: "list", start: null, items: [[{ kind: "paragraph", children: ["b"] }], [{ kind: "paragraph", children: ["c"] }]],
      }],
      [{ kind: "paragraph", children: ["d"] }],
    ],
  }]);
});

test("a number at the start of a line within a paragraph is no list", () => {
  expect(parseBlocks("we sold\n1182. That is all").map(({ kind }) => kind)).toEqual(["paragraph"]);
});

test("a table has as many cells in each row as its head, and ends with its last line of pipes", () => {
  expect(parseBlocks("| a | **b** |\n|---|:-:|\n| 1 \\| 2 |\n| 3 | 4 | 5 |\nend")).toEqual([
    { kind: "table", head: [["a"], [{ kind: "strong", children: ["b"] }]], rows: [[["1 ", "|", " 2"], []], [["3"], ["4"]]] },
    { kind: "paragraph", children: ["end"] },
  ]);
});

test.each(["a | b\nc | d", "---|---", "| a |\n|- x |"])("%j is no table", (text) => {
  expect(parseBlocks(text).map(({ kind }) => kind)).not.toContain("table");
});

test("code that is still being written is code to the end", () => {
  expect(parseBlocks("~~~\n<b>\n```\nx")).toEqual([{ kind: "code", text: "<b>\n```\nx" }]);
});

test.each([
  ["marks that never close", "**a ".repeat(5_000)], ["brackets", "[".repeat(20_000)], ["ticks", "` `` ".repeat(4_000)],
  ["quotes in quotes", ">".repeat(20_000)], ["lists in lists", "- ".repeat(10_000)], ["a heading of nothing", `# ${" ".repeat(20_000)}x`], ["underscores", "_a".repeat(10_000)],
  ["a table of nothing", `|${"-|".repeat(10_000)}\n|${"-|".repeat(10_000)}x`], ["pipes", "|\n".repeat(10_000)],
])("%s do not make it slow or deep", (_name, text) => {
  expect(JSON.stringify(parseBlocks(text)).length).toBeGreaterThan(0);
}, 1_000);
