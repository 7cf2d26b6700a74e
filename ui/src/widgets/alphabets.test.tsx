import { readFileSync } from "node:fs";
import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { AgentText } from "./agent-text";
import { HiddenCharacters } from "./hidden-characters";
import { JsonValue } from "./json-value";
import { mixedWords } from "../base/visible";

interface Case {
  name: string;
  text: string;
  words: [at: number, text: string, letters: string][];
}
const cases = JSON.parse(readFileSync("../tests/base/mixed_words.json", "utf8")) as Case[];

test.each(cases)("the terminal and mails mark the same: $name", ({ text, words }) => {
  expect(mixedWords(text).map((word) => [word.at, word.text, word.letters.join("")])).toEqual(words);
});

const address = "ann@ex\u0430mple.com";
const note = "Look-alike letters of another alphabet: \u0430 (U+0430)";

test.each([
  { name: "a value", content: <JsonValue value={{ to: address }} /> },
  { name: "a text", content: <AgentText text={`Pay ${address} now`} /> },
  { name: "a text in its editor", content: <HiddenCharacters text={address} /> },
])("$name names the letters of a mixed address on hover and to screen readers", ({ content }) => {
  render(content);
  const mark = screen.getByTitle(note);
  expect([mark.tagName, mark.textContent]).toEqual(["MARK", `${address} (${note})`]);
});

test("no character is lost or repeated beside the marks", () => {
  const { container } = render(<AgentText text={"x \u0430nn, b\u043eb \u2014 end"} />);
  for (const hidden of container.querySelectorAll(".visually-hidden")) hidden.remove();
  expect(container.textContent).toBe("x \u0430nn, b\u043eb \u2014 end");
});

test("an ordinary text has no mark and no note beside its editor", () => {
  const { container } = render(<><AgentText text="5 kΩ, 返金 T-Shirt" /><HiddenCharacters text="Ann" /></>);
  expect([container.querySelector("mark"), screen.queryByTestId("hidden-characters")]).toEqual([null, null]);
});
