import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { Json, JsonObject, Request } from "../api/types";
import { RequestDetail } from "../request/request-detail";
import { aRequest, FakeEventSource, serve, show } from "../testing/fake-server";

beforeEach(() => vi.stubGlobal("EventSource", FakeEventSource));

function open(args: JsonObject, changes: Partial<Request> = {}) {
  const request = aRequest({ action: { name: "do", args, schema: null }, ...changes });
  serve((path) => {
    if (path === "/v1/session") return [200, { name: "ann", role: "person", tenant: "default", groups: [] }];
    return path.startsWith("/v1/requests/") ? [200, request] : [200, { items: [], next: null }];
  });
  show(<RequestDetail id={request.id} />);
  return userEvent.setup();
}

const figure = (name: string) => screen.findByTestId(`fact-${name}`);

test("a mail is a mail, and what else the call has stands below it", async () => {
  open({ to: ["ann@example.org", "bob\u202E@example.org"], subject: "Hello", body: "Dear Ann\n\nBye", urgent: true });
  const mail = await figure("mail");
  expect((await within(mail).findByTestId("mail-to")).textContent).toContain("bob\\u{202e}@example.org");
  expect(within(mail).getByTestId("mail-body").textContent).toBe("Dear Ann\n\nBye");
  expect(screen.getByTestId("fact-urgent").textContent).toBe("true");
  expect(screen.queryByTestId("fact-subject")).toBeNull();
});

test("an address of mixed alphabets is marked in a mail, a table, an argument, the call and its effect", async () => {
  const address = "ann@ex\u0430mple.com";
  open({ to: [address], subject: "Hello", body: `Dear ${address}`, rows: [{ n: 1, who: address }, { n: 2, who: "bob" }], payee: address });
  const marks = async (place: Promise<HTMLElement>) => (await within(await place).findAllByTitle(/U\+0430/)).length;
  expect(await marks(figure("mail"))).toBe(2);
  expect(await marks(figure("rows"))).toBe(1);
  expect(await marks(figure("payee"))).toBe(1);
  expect(await marks(screen.findByTestId("effect-call"))).toBe(2);
});

test("the HTML of a mail is its source, and runs nothing", async () => {
  open({ to: "a@b.c", subject: "x", html: "<img src=x onerror=alert(1)><script>alert(1)</script>" });
  const mail = await figure("mail");
  expect((await within(mail).findByTestId("mail-html")).textContent).toBe("<img src=x onerror=alert(1)><script>alert(1)</script>");
  expect(mail.querySelectorAll("img, script")).toHaveLength(0);
});

test("a list of equal objects is a table whose texts are told from other values", async () => {
  open({ lines: [{ sku: "A", n: 1, ok: null }, { sku: "5", n: 2, ok: true }] });
  const table = await figure("lines");
  await within(table).findAllByText("sku");
  expect(Array.from(table.querySelectorAll(".ant-table-row td"), (cell) => cell.textContent)).toEqual(["A", "1", "null", '"5"', "2", "true"]);
});

test("a long text is cut with the number of its lines, and a key opens it", async () => {
  const user = open({ note: Array.from({ length: 58 }, (_, n) => `line ${n}`).join("\n") });
  const note = await figure("note");
  expect((await within(note).findByTestId("show-more")).textContent).toBe("34 more lineso");
  expect(note.textContent).not.toContain("line 57");
  await user.keyboard("o");
  expect(note.textContent).toContain("line 57");
  expect(within(note).queryByTestId("show-more")).toBeNull();
});

test("a tree can be folded, counts what it leaves out, and its JSON is one press away", async () => {
  const user = open({ order: { id: 7, items: Array.from({ length: 100 }, (_, n) => ({ n, tags: ["x"] })) } });
  const tree = await figure("order");
  expect((await within(tree).findAllByTestId("show-more")).some(({ textContent }) => /more values/.test(textContent))).toBe(true);
  await user.keyboard("oo");
  expect(within(tree).queryByTestId("show-more")).toBeNull();
  await user.click(within(tree).getByTestId("as-json"));
  expect(tree.querySelector("code.json")?.textContent).toContain('"n": 99');
});

test.each([
  ["https://bank.example@evil.example/login", "evil.example", true],
  ["https://b\u0430nk.example/", "xn--bnk-6cd.example", false],
  ["http://10.0.0.1:8080/x", "10.0.0.1:8080", false],
])("a link shows the host to which %s leads", async (url, host, isSigned) => {
  open({ url });
  const card = await figure("url");
  expect((await within(card).findByTestId("link-host")).textContent).toBe(host);
  expect(within(card).queryByTestId("link-warning") !== null).toBe(isSigned);
  expect(card.querySelector("a")?.rel).toBe("noopener noreferrer nofollow");
});

test("an image is drawn from its bytes, and a PDF as pictures beside the way to save it", async () => {
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  open({ logo: pixel, bill: `JVBERi0xLjQK${"A".repeat(80)}` });
  expect((await within(await figure("logo")).findByAltText("logo")).getAttribute("src")).toBe(`data:image/png;base64,${pixel}`);
  const bill = await figure("bill");
  expect(await within(bill).findByTestId("save-pdf")).toBeTruthy();
  expect(within(bill).getByTestId("pdf-pages").textContent).toBe("Loading the PDF");
  expect(bill.querySelectorAll("iframe, embed, object, img")).toHaveLength(0);
});

test("code is in colors, and every character of it is text", async () => {
  const sql = "SELECT '<img src=x>' FROM t -- \u200B";
  open({ sql });
  const code = await figure("sql");
  expect((await within(code).findByText("SELECT")).className).toContain("keyword");
  expect(code.querySelector("pre")?.textContent).toBe("SELECT '<img src=x>' FROM t -- \\u{200b}");
});

test("code that is too long for the patterns of a language is shown without colors, and whole", async () => {
  const sql = `SELECT 1 FROM t -- ${"'\u0060".repeat(1_500)}`;
  const user = open({ sql });
  const code = await figure("sql");
  await within(code).findByTestId("show-more");
  await user.keyboard("o");
  expect(code.querySelectorAll(".token")).toHaveLength(0);
  expect(code.querySelector("pre")?.textContent).toBe(sql);
});

const large: [string, Json][] = [
  ["one line", "x".repeat(1_000_000)], ["lines", "a\n".repeat(500_000)], ["list", Array.from({ length: 50_000 }, (_, n) => [n])],
  ["rows", Array.from({ length: 20_000 }, (_, n) => ({ n, text: "x" }))], ["patch", `@@ -1 +1 @@\n${"+x\n".repeat(300_000)}`],
  ["deep", Array.from({ length: 60 }).reduce<Json>((inner) => [inner, inner === null ? 1 : 2], null)],
];

test.each(large)("1 MB of %s is cut at first, and does not fill the page", async (_name, value) => {
  open({ value });
  const shown = await figure("value");
  expect((await within(shown).findAllByTestId("show-more")).length).toBeGreaterThan(0);
  expect(shown.querySelectorAll("*").length).toBeLessThan(1_500);
});
