import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Request } from "../api/types";
import { App } from "../app";
import { aLearning } from "../testing/fake-learning";
import { aRequest, FakeEventSource, serve, show } from "../testing/fake-server";
import { RequestDetail } from "./request-detail";
import { isShortened } from "./signature";

const session = { name: "ann", role: "person", tenant: "default", groups: [] };

beforeEach(() => vi.stubGlobal("EventSource", FakeEventSource));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  window.history.replaceState(null, "", "/");
});

function open(request: Request, inThread = false) {
  serve((path) => {
    if (path === "/v1/session") return [200, session];
    return path.startsWith("/v1/requests/") ? [200, request] : [200, { items: [], next: null }];
  });
  show(<RequestDetail id={request.id} isInThread={inThread} />);
}

const learned = "Clamp the cheeks first.";

function edited(): Request {
  const request = aLearning();
  const args = { ...request.action?.args, text: learned, section: "mistakes" };
  const response = { decision: "edit", responder: "ann", channel: "page", at: "2026-01-02T11:00:00Z", args } as const;
  return aRequest({ ...request, status: "completed", response });
}

test("a proposal that a person edited shows what was learned, and what had been proposed beside it", async () => {
  open(edited());
  expect((await screen.findByTestId("learn-text")).textContent).toBe(learned);
  expect(screen.getByTestId("facts").textContent).toContain("What was learned");
  expect(screen.getByTestId("facts").textContent).toContain("Mistakes");
  expect(screen.getByTestId("proposed-text").querySelector("del")?.textContent).toBe("Clamp the cheeks of a tenon before the shoulders.");
});

test("so does its one line in a conversation", async () => {
  open(edited(), true);
  await screen.findByTestId("learn-text");
  expect(document.querySelector(".collapsible-facts > summary")?.textContent).toBe(learned);
});

const long = aRequest({ action: { name: "pay", args: { to: "c-77" }, schema: null }, description: "One line.\n\n".repeat(300), context: { ticket: "x" } });

/** Give the text a height above that of its box, because tests have no layout. */
const overflow = () => vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(5_000);

test.each(["key", "button"])("words that do not fit say so, and a %s shows the rest", async (way) => {
  overflow();
  const user = userEvent.setup();
  open(long);
  const buttons = await screen.findAllByTestId("show-rest");
  expect(buttons.map(({ textContent }) => textContent)).toEqual(["Show moreo", "Show moreo"]);
  expect(document.querySelectorAll(".collapsible-text[data-cut=true]")).toHaveLength(2);
  if (way === "key") await user.keyboard("o");
  else await user.click(buttons[0] as HTMLElement);
  expect(document.querySelectorAll(".collapsible-text")).toHaveLength(0);
  expect(screen.queryByTestId("show-rest")).toBeNull();
});

test("of an assistant's question only its place is left out: what else is under the digest is shown", async () => {
  const context = { assistant: "clerk", conversation: "c1", info: "city", hidden: "and pay eve", plan: { steps: 5 } };
  open({ ...long, context });
  const shown = (await screen.findByTestId("context")).textContent ?? "";
  expect(shown).toContain("and pay eve");
  expect(shown).toContain("steps: 5");
  expect(shown).not.toContain("clerk");
});

test("the context of an agent is drawn as rows, trees and tables, and not as JSON", async () => {
  open(aRequest({ kind: "form", context: { city: "Nara", lines: [{ sku: "A", n: 1 }, { sku: "B", n: 2 }], limits: { cpu: 2 } } }));
  const shown = await screen.findByTestId("context");
  expect(shown.querySelectorAll("thead th, [role=columnheader]").length).toBeGreaterThan(1);
  expect(screen.getByTestId("context-city").textContent).toBe('"Nara"');
  expect(screen.getByTestId("context-limits").dataset.shape).toBe("tree");
  expect(shown.textContent).not.toContain("{");
});

test("what would stand in for an answer is shown before it does, and so is a low priority", async () => {
  open(aRequest({ kind: "question", fallback: { colour: "blue" }, priority: "low" }));
  expect((await screen.findByTestId("fallback-waiting")).textContent).toContain('"colour": "blue"');
  expect(document.querySelector(".heading .meta")?.textContent).toContain("low");
});

test.each([
  [{ name: "pay", args: { to: "c-77" }, schema: null }, false],
  [{ name: "pay", args: { to: "c-77", note: "x".repeat(40) }, schema: null }, true],
  [{ name: "pay", args: Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`argument${n}`, "value"])), schema: null }, true],
])("of several decided at once, a call that does not fit into its line can be opened (%#)", (action, cut) => {
  expect(isShortened(action)).toBe(cut);
});

const away = {
  en: "The server cannot be reached.", ja: "サーバーに接続できません。", zh: "无法连接服务器。",
};
const unknown = { en: "There is no page at this address.", ja: "このアドレスのページはありません。", zh: "此地址没有页面。" };
const silent = { en: "The server has not answered yet.", ja: "サーバーからまだ応答がありません。", zh: "服务器尚未响应" };
const languages = ["en", "ja", "zh"] as const;

const pass = (milliseconds: number) => act(() => vi.advanceTimersByTimeAsync(milliseconds));

/** The whole page, two seconds after it was opened. */
async function afterTwoSeconds(language: string, answer: (path: string) => Promise<Response>) {
  // A test's clock does not wait for files.
  await Promise.all([
    import("../strings/ja"), import("antd/es/locale/ja_JP"), import("dayjs/locale/ja"), import("../strings/zh"), import("antd/es/locale/zh_CN"),
    import("dayjs/locale/zh-cn"),
  ]);
  vi.useFakeTimers();
  vi.spyOn(navigator, "languages", "get").mockReturnValue([language]);
  vi.stubGlobal("fetch", answer);
  render(<App />);
  await pass(50);
  await pass(950);
  await pass(1_000);
  return document.body.textContent;
}

const answerOf = (body: unknown) => new Response(JSON.stringify(body), { status: 200 });

test.each(languages)("an absent server is told within two seconds (%s)", async (language) => {
  expect(await afterTwoSeconds(language, () => Promise.reject(new Error("refused")))).toContain(away[language]);
});

test.each(languages)("a server that goes away after the page was opened is told within two seconds (%s)", async (language) => {
  const answer = (path: string) => (path === "/v1/session" ? Promise.resolve(answerOf(session)) : Promise.reject(new Error("refused")));
  expect(await afterTwoSeconds(language, answer)).toContain(away[language]);
});

test.each(languages)("a server that says nothing is told within two seconds (%s)", async (language) => {
  expect(await afterTwoSeconds(language, () => new Promise(() => undefined))).toContain(silent[language]);
});

test.each(languages)("an unknown address is told in the page's own words, with the way on (%s)", async (language) => {
  window.history.replaceState(null, "", "/nowhere/at/all");
  const answer = (path: string) => Promise.resolve(answerOf(path === "/v1/session" ? session : { items: [], next: null, absence: null, deputy_for: [] }));
  expect(await afterTwoSeconds(language, answer)).toContain(unknown[language]);
  expect(screen.getByTestId("no-page").querySelector("a")?.getAttribute("href")).toBe("/");
});
