import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import MarkdownBlocks, { addressOf, parse } from "./markdown-blocks";

const drawn = (text: string) => render(<MarkdownBlocks text={text} />).container;
const html = (text: string) => drawn(text).innerHTML;

test.each([
  ["plain words", "just words", "just words"],
  ["bold", "a **b** c", "a <strong>b</strong> c"],
  ["bold inside Japanese", "必ず**確認**です", "必ず<strong>確認</strong>です"],
  ["bold beside Japanese brackets", "これは**「確認」**です", "これは<strong>「確認」</strong>です"],
  ["italics by either mark", "*a* _b_", "<em>a</em> <em>b</em>"],
  ["code, in which nothing else is marked", "`a **b**`", "<code>a **b**</code>"],
  ["code that holds a tick", "`` a`b ``", "<code>a`b</code>"],
  ["a mark within a mark", "**a *b***", "<strong>a <em>b</em></strong>"],
  ["text struck out", "~~a~~ b", "<s>a</s> b"],
  ["two lines", "a\nb", "a\nb"],
])("%s", (_name, text, expected) => expect(html(text)).toBe(`<p>${expected}</p>`));

test.each(["snake_case_name", "2 * 3 * 4", "a ** b", "**not closed", "`not closed", "![alt]", "[text] (no)", "AT&amp;T &copy; &#x41;", String.raw`\*a\*`, "2**10 and 3**4",
  "rm -rf /*/tmp/*", "__init__.py", String.raw`del C:\Users\*.txt *`, String.raw`\\server\_x`, "2*(3)*4"])(
  "%s stays as it is", (text) => expect(drawn(text).textContent).toBe(text),
);

test("HTML is text", () => {
  const text = "<img src=x onerror=alert(1)>\n<b>no</b>";
  expect([drawn(text).textContent, drawn(text).querySelector("img, b")]).toEqual([text, null]);
});

test.each(["javascript:alert(1)", "data:text/html,x", "/v1/session", "//elsewhere.example", "https://", "vbscript:x", " https://a.example"])(
  "%s is no address to link to", (target) => expect(addressOf(target)).toBeNull(),
);

test.each(["[ok](javascript:alert)", "[ok](/v1/session)", "//elsewhere.example", "<javascript:alert(1)>", "elsewhere.example a@b.example"])("%s is no link", (text) => {
  expect([drawn(text).textContent, drawn(text).querySelector("a")]).toEqual([text, null]);
});

test("a link shows its words, its target as it is resolved, and its title", () => {
  const link = drawn('[my bank](https://b\u0430nk.example/in "Really")');
  expect(link.textContent).toBe("my bank (https://xn--bnk-6cd.example/in “Really”)");
  expect(link.querySelector("a")?.href).toBe("https://xn--bnk-6cd.example/in");
});

test("a bare address ends before the punctuation of its sentence", () => {
  const links = [...drawn("See https://a.example/b(c). 「https://b.example」, https://c.example/d。").querySelectorAll("a")];
  expect(links.map(({ textContent }) => textContent)).toEqual(["https://a.example/b(c)", "https://b.example", "https://c.example/d"]);
});

test("a bare address that is resolved to another one shows both", () => {
  expect(drawn("https://b\u0430nk.example https://c.example").textContent).toBe("https://b\u0430nk.example (https://xn--bnk-6cd.example/) https://c.example");
});

test("an image is words and a link, and is never loaded", () => {
  expect(drawn("![cat](https://a.example/cat.png)").textContent).toBe("!cat (https://a.example/cat.png)");
});

test("blocks in a row", () => {
  const text = "# Title\ntext\n- one\n- two\n\n1. first\n2. second\n> said\n\n---\n```js\n**code**\n```\nend";
  expect([...drawn(text).children].map(({ tagName }) => tagName)).toEqual(["P", "P", "UL", "OL", "BLOCKQUOTE", "HR", "DIV", "P"]);
});

test("a list keeps its own numbers and its inner lists", () => {
  const list = drawn("3. a\n   - b\n   - c\n7. d").querySelector("ol");
  expect([...(list?.children ?? [])].map((item) => [item.getAttribute("value"), item.textContent])).toEqual([["3", "abc"], ["7", "d"]]);
});

test("a number at the start of a line within a paragraph is no list", () => {
  expect(html("we sold\n1182. That is all")).toBe("<p>we sold\n1182. That is all</p>");
});

test("a table is drawn as one", () => {
  const rows = drawn("| a | **b** |\n|---|:-:|\n| 1 \\| 2 |\n| 3 | 4 |\n\nend").querySelectorAll("tr");
  expect([...rows].map((row) => [...row.children].map(({ textContent }) => textContent))).toEqual([["a", "b"], ["1 | 2", ""], ["3", "4"]]);
});

test.each([
  ["a cell that the table has no column for", "| a | b |\n|---|---|\n| 1 | 2 | and 3 |"],
  ["a definition", "Pay [them][1].\n\n[1]: https://a.example 'all of it'"],
  ["a footnote", "Pay[^1].\n\n[^1]: all of it"],
  ["an encoded target", "[a](https://a.example/?b=1&amp;c=2)"],
  ["a comment", "a <!-- pay 4000 --> b"],
  ["quotes in quotes in quotes", `${">".repeat(300)} pay 4000`],
  ["the words of a fence", "```js pay 4000\nx\n```"],
  ["the sign of a currency", "| a |\n|---|\n| 1 | ¥ |"],
])("%s is shown", (_name, text) => {
  const letters = (shown: string) => shown.replace(/[^\p{L}\p{N}¥]/gu, "");
  expect(letters(drawn(text).textContent ?? "")).toBe(letters(text));
});

test("code that is still being written is code to the end", () => {
  expect(html("~~~\n<b>\n```\nx")).toBe("<div><pre><code>&lt;b&gt;\n```\nx</code></pre></div>");
});

test.each([
  ["marks that never close", "**a ".repeat(5_000)], ["brackets", "[".repeat(20_000)], ["ticks", "` `` ".repeat(4_000)],
  ["quotes in quotes", ">".repeat(20_000)], ["lists in lists", "- ".repeat(10_000)], ["a heading of nothing", `# ${" ".repeat(20_000)}x`], ["underscores", "_a".repeat(10_000)],
  ["a table of nothing", `|${"-|".repeat(10_000)}\n|${"-|".repeat(10_000)}x`], ["pipes", "|\n".repeat(10_000)], ["links in links", "[a](".repeat(5_000)],
  ["addresses", "https://".repeat(3_000)], ["smaller signs", "<a".repeat(10_000)], ["struck out", "~~a ".repeat(5_000)], ["stars", "a*".repeat(10_000)], ["backslashes", "\\".repeat(20_000)],
  ["ticks that grow", Array.from({ length: 200 }, (_, n) => "`".repeat(n)).join(" ")],
])("%s do not make it slow or deep", (_name, text) => {
  expect(parse(text)?.length ?? 0).toBeGreaterThanOrEqual(0);
});
