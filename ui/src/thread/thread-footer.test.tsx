import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { ModelCalls } from "../api/types";
import { show } from "../testing/fake-server";
import { StringsContext, type Strings, en } from "../strings";
import { ja } from "../strings/ja";
import { zh } from "../strings/zh";
import { UsageLines } from "./thread-footer";

const calls = (changes: Partial<ModelCalls> = {}): ModelCalls => ({
  model: "m-1", calls: 2, unreported_calls: 0, input_tokens: 1_101, cached_tokens: 782, output_tokens: 84,
  seconds: 12, cost: null, currency: null, ...changes,
});

function lines(usage: ModelCalls[], strings: Strings = en): string[] {
  show(<StringsContext value={strings}><UsageLines usage={usage} /></StringsContext>);
  return screen.queryAllByRole("listitem").map((line) => line.textContent);
}

test("a model's calls, tokens, time and cost are one line", () => {
  expect(lines([calls({ cost: 0.0123, currency: "USD" })])).toEqual([
    "m-1 · 2 calls · 1,101 tokens read (71% cached) · 84 written · 12 s · $0.01",
  ]);
});

test.each([
  [ja, "m-1 · 呼び出し 2 回 · 入力 1,101 トークン（71% はキャッシュ） · 出力 84 · 12 秒"],
  [zh, "m-1 · 调用 2 次 · 输入 1,101 个词元（71% 来自缓存） · 输出 84 个 · 12 秒"],
])("the line is in the person's language", (strings, line) => {
  expect(lines([calls()], strings)).toEqual([line]);
});

test("tokens that no provider reported are not shown as 0", () => {
  const unknown = { input_tokens: null, cached_tokens: null, output_tokens: null };
  expect(lines([calls({ calls: 1, unreported_calls: 1, seconds: 0.5, ...unknown })])).toEqual(["m-1 · 1 call · tokens not reported · 0.5 s"]);
});

test("a cache that nothing came from is not mentioned, and calls without tokens are", () => {
  expect(lines([calls({ cached_tokens: 0 }), calls({ model: "m-2", cached_tokens: null, unreported_calls: 1 })])).toEqual([
    "m-1 · 2 calls · 1,101 tokens read · 84 written · 12 s",
    "m-2 · 2 calls · 1,101 tokens read · 84 written · 1 call did not report tokens · 12 s",
  ]);
});

test.each([
  [0.000_432, "USD", "$0.00043"], [0.5, "USD", "$0.50"], [0.4, "JPY", "¥0.4"], [1182, "JPY", "¥1,182"], [0.0045, "KWD", "KWD 0.005"], [0.000_45, "KWD", "KWD 0.00045"],
])("a cost of %d %s has the digits of its currency, and is not rounded to nothing", (cost, currency, text) => {
  expect(lines([calls({ cost, currency })])[0]?.split(" · ").at(-1)?.replaceAll("\u00A0", " ")).toBe(text);
});

test("signs that hide or reorder text are visible in the name of a model", () => {
  expect(lines([calls({ model: "m\u202E1" })])[0]).not.toContain("\u202E");
});

test("a run that called no model has no line", () => {
  expect(lines([])).toEqual([]);
});
