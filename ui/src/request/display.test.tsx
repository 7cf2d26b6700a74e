import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { Request } from "../api/types";
import { aRequest, FakeEventSource, serve, show } from "../testing/fake-server";
import { RequestDetail } from "./request-detail";

beforeEach(() => vi.stubGlobal("EventSource", FakeEventSource));

function open(display: Request["display"]) {
  const request = aRequest({ display });
  serve((path) => {
    if (path === "/v1/session") return [200, { name: "ann", role: "person", tenant: "default", groups: [] }];
    return path.startsWith("/v1/requests/") ? [200, request] : [200, { items: [], next: null }];
  });
  show(<RequestDetail id={request.id} />);
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("a table is a table, with numbers as numbers and what hides in a cell in sight", async () => {
  open([{ type: "table", title: "Overdue", columns: ["customer", "amount"], rows: [["c-77\u202E", 4000], [null, 12.5]] }]);
  const table = await screen.findByTestId("display-table");
  expect(table.querySelector("figcaption")?.textContent).toBe("Overdue ");
  expect(Array.from(table.querySelectorAll("thead th"), (cell) => cell.textContent)).toEqual(["customer", "amount"]);
  expect(Array.from(table.querySelectorAll(".ant-table-row td"), (cell) => cell.textContent)).toEqual(["c-77\\u{202e}", "4000", "", "12.5"]);
  expect(screen.getByTestId("display").textContent).toContain("not checked");
});

test("a long table is paged, and says how many rows there are", async () => {
  const user = userEvent.setup();
  open([{ type: "table", title: null, columns: ["n"], rows: Array.from({ length: 45 }, (_, n) => [n]) }]);
  const table = await screen.findByTestId("display-table");
  expect(table.textContent).toContain("1–20 of 45 rows");
  await user.click(screen.getByTitle("3"));
  expect(table.querySelectorAll(".ant-table-row")).toHaveLength(5);
});

test("an image is drawn from its own bytes with words for who cannot see it; bytes that are none are not", async () => {
  open([{ type: "image", title: null, data: pixel, alt: "The parcel" }, { type: "image", title: null, data: "PHN2Zz4=", alt: "A drawing" }]);
  const image = await screen.findByRole("img", { name: "The parcel" });
  expect(image.getAttribute("src")).toBe(`data:image/png;base64,${pixel}`);
  expect(screen.queryByRole("img", { name: "A drawing" })).toBeNull();
  expect(screen.getByText("A drawing")).toBeTruthy();
});

test("a change shows what goes and comes, and folds what stays with its number of lines", async () => {
  const same = Array.from({ length: 30 }, (_, n) => `line ${n}`).join("\n");
  open([{ type: "diff", title: "terms.md", before: `${same}\n30 days\n`, after: `${same}\n14 days\n` }]);
  const change = await screen.findByTestId("display-diff");
  expect(change.querySelector("del")?.textContent).toBe("− 30 days");
  expect(change.querySelector("ins")?.textContent).toBe("+ 14 days");
  expect(change.querySelector("summary")?.textContent).toBe("27 unchanged lines");
  expect(change.querySelector("details")?.textContent).toContain("line 26");
});

test("code is text, character by character", async () => {
  open([{ type: "code", title: null, language: "sql", text: "<img src=x>\n  DROP TABLE orders; --\u200B" }]);
  const code = await screen.findByTestId("display-code");
  expect(code.querySelector("pre")?.textContent).toBe("<img src=x>\n  DROP TABLE orders; --\\u{200b}");
  expect(code.querySelector("img")).toBeNull();
  expect(code.querySelector("figcaption")?.textContent).toContain("sql");
});

test("a link shows where it leads, whatever it is called, and no other scheme becomes one", async () => {
  open([
    { type: "link", title: "https://bank.example", url: "https://evil.example/x" },
    { type: "link", title: "harmless", url: "javascript:alert(1)" },
  ]);
  const [link, text] = await screen.findAllByTestId("display-link");
  const anchor = link?.querySelector("a");
  expect([anchor?.textContent, anchor?.getAttribute("href")]).toEqual(["https://evil.example/x", "https://evil.example/x"]);
  expect(anchor?.rel).toBe("noopener noreferrer nofollow");
  expect(text?.querySelector("a")).toBeNull();
  expect(text?.textContent).toContain("javascript:alert(1)");
});

test("a block of a newer server is shown as it came", async () => {
  open([{ type: "video", url: "https://example.com/v" } as never]);
  expect((await screen.findByTestId("display")).textContent).toContain("https://example.com/v");
});
