import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ProblemError, type FieldFault } from "../api/call";
import { explain } from "../widgets/problem";
import type { FieldProblem, Wording } from "../api/schema";
import { known } from "../testing/known";
import type { Strings } from ".";
import { fieldText, problemText, reasonText, translated } from "./catalogue";
import { en } from ".";
import { ja } from "./ja";
import { zh } from "./zh";

const fault = (code: string, params: FieldFault["params"] = {}): FieldFault => ({ field: "a", code, params, detail: "is odd: use 2" });
const all: Strings[] = [en, ja, zh];

/** The errors of JSON Schema that a server test pins. */
const { errors } = JSON.parse(readFileSync("../tests/forms/schema_errors.json", "utf8")) as {
  errors: [unknown, unknown, string, string, FieldFault["params"]][];
};

test.each(errors)("the error of the schema %j has a text in each language", (_schema, _value, message, code, params) => {
  for (const strings of all) {
    const text = fieldText({ field: "a", code, params, detail: message }, strings);
    expect(text).not.toBe(message);
    expect(text).not.toContain("…");
    if (strings !== en) expect(text).not.toMatch(/[a-z]{2}/i);
  }
});

test("parameters are filled in: numbers, sizes and types", () => {
  expect(fieldText(fault("below_minimum", { min: 0.5 }), ja)).toBe("0.5 以上の値を入力してください。");
  expect(fieldText(fault("file_size", { max_bytes: 10 * 1024 * 1024 }), ja)).toContain("10 MB 以下");
  expect(fieldText(fault("wrong_type", { types: ["integer", "null"] }), en)).toBe("Give a whole number or nothing.");
  expect(fieldText(fault("pattern_mismatch", { pattern: "$& {min}" }), ja)).toBe("次の形式に合わせてください：$& {min}");
});

test.each(["no_such_code", "constructor", "invalid"])("an error of a field with the code %s has the server's detail in English only", (code) => {
  expect(all.map((strings) => fieldText(fault(code), strings))).toEqual(["is odd: use 2", ja.texts.fields.invalid, zh.texts.fields.invalid]);
});

test.each([
  [409, "stale", "stale"], [503, undefined, "unavailable"], [0, undefined, "unreachable"], [500, "internal", "internal"], [418, "no_such_code", "failed"],
  [404, "toString", "not_found"],
] as const)("a reply %i with the code %s has the text %s", (status, code, key) => {
  expect(all.map((strings) => problemText({ status, code }, strings))).toEqual(all.map(({ texts }) => texts.problems[key]));
});

test("while deciding, a refusal says what became of the decision", () => {
  expect(problemText({ status: 409, code: "final" }, en, true)).toBe("Someone else answered first. Your answer was not sent");
  expect(problemText({ status: 409, code: "digest_mismatch" }, ja, true)).toBe(ja.texts.problems.digest_mismatch);
});

test("the server's detail is shown in English only", () => {
  const problem = new ProblemError(409, { code: "conflict", detail: "version 3 came later" });
  expect(explain(problem, en)).toContain("version 3 came later");
  expect(explain(problem, ja)).toBe(ja.texts.problems.conflict);
  expect(explain(new TypeError("Failed to fetch"), zh)).toBe(zh.texts.problems.failed);
  const invalid = new ProblemError(422, { code: "invalid", errors: [known<FieldProblem>({ field: "name", message: "is missing", code: "required", params: {} })] });
  expect(explain(invalid, ja)).toBe("name: 入力してください。");
  const empty = new ProblemError(422, { code: "invalid", errors: [known<FieldProblem>({ field: "messages", message: "is empty", code: "message_empty", params: {} })] });
  expect(all.map((strings) => explain(empty, strings))).toEqual(["message: Write a message.", "メッセージ: メッセージを入力してください。", `消息: ${zh.texts.fields.message_empty}`]);
});

test("a detail that names the remedy is translated with its values, and escaped", () => {
  const problem = new ProblemError(403, { code: "forbidden", detail: "only ops\u202e may change the playbook of 'bot': ask one of them" });
  expect(explain(problem, ja)).toBe("このプレイブックを変更できるのは ops\\u{202e} だけです。いずれかに依頼してください。");
  expect(problemText({ status: 403, code: "forbidden", message: "request 'r1' is assigned to other people" }, zh, true)).toBe(zh.texts.details.assigned);
  expect(fieldText({ field: "agent", code: "invalid", params: {}, detail: "choose one of a, b" }, ja)).toBe("a, b のいずれかを選んでください。");
});

test("a text is translated only if its wording says exactly the same", () => {
  const wording = known<Wording>({ title: [{ code: "finished", params: { task: "俳句" } }] });
  expect(translated("Is this finished: 俳句", wording, "title", ja)).toBe("完了してよいですか：俳句");
  expect(translated("Delete everything?", wording, "title", ja)).toBe("Delete everything?");
  expect(translated("Is this finished: 俳句", wording, "description", ja)).toBe("Is this finished: 俳句");
  expect(translated("Is this finished: 俳句", undefined, "title", ja)).toBe("Is this finished: 俳句");
});

test("a reason of Ringi is translated, and a person's or an agent's reason stays", () => {
  const reasons = ["the run failed", "the thread was cancelled", "the thread was cancelled: {reason} $&", "not needed", "the run failed again"];
  expect(reasons.map((reason) => reasonText(reason, ja))).toEqual(["実行に失敗しました", "実行が停止されました", "実行が停止されました：{reason} $&", "not needed", "the run failed again"]);
  expect(reasons.map((reason) => reasonText(reason, en))).toEqual(reasons);
});

test.each(Object.entries(en.texts.reasons))("the reason %s is recognized in its stored English text, with the values in it", (code, english) => {
  const stored = english.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === "why" ? "the run failed" : `<${name} 1>`));
  for (const strings of [ja, zh]) {
    const expected = (strings.texts.reasons as { [code: string]: string })[code]?.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === "why" ? strings.texts.reasons.run_failed : `<${name} 1>`));
    expect(reasonText(stored, strings)).toBe(expected);
  }
});

test("the page recognizes no sentence of the server", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => /(?<!\.test)\.tsx?$/.test(file));
  const expressions = files.flatMap((file) => readFileSync(`src/${file}`, "utf8").match(/(?<=[=(,:[?&|]\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n[])+\/[dgimsuvy]*/g) ?? []);
  expect(expressions.length).toBeGreaterThan(20);
  expect(expressions.filter((expression) => /[a-z]{2,} [a-z]{2,}/i.test(expression))).toEqual([]);
});
