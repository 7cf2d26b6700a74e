import { screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";
import { show } from "../testing/fake-server";
import { PdfPageView, PdfError, type PdfProblem } from "./pdf-pages";

/** Everything is near the screen. */
class Near {
  constructor(readonly tell: (entries: { isIntersecting: boolean }[]) => void) {}

  observe() {
    this.tell([{ isIntersecting: true }]);
  }

  disconnect() {}
}

beforeEach(() => {
  vi.stubGlobal("IntersectionObserver", Near);
});

function open({ text = "", isStrict = true, draw = async () => true }: { text?: string; isStrict?: boolean; draw?: () => Promise<boolean> }) {
  const onBroken = vi.fn<() => void>();
  const file = { pages: 3, isStrict, ratio: 0.5, page: async () => ({ ratio: 2, text, draw }), close: () => {} };
  show(<PdfPageView file={file} number={2} name="bill" onBroken={onBroken} />);
  return onBroken;
}

const fail = (problem: PdfProblem) => async () => {
  throw new PdfError(problem);
};

const state = async (wanted: string) => waitFor(() => expect(screen.getByTestId("pdf-page-2").getAttribute("data-state")).toBe(wanted));

test("a page has a name, the room of its ratio, and its text for readers", async () => {
  open({ text: "Invoice\u202E" });
  await state("drawn");
  expect(screen.getByRole("img", { name: "bill: Page 2 of 3" })).toBeTruthy();
  expect(screen.getByTestId("pdf-paper").style.aspectRatio).toMatch(/^2\b/);
  expect(screen.getByText("Invoice\\u{202e}")).toBeTruthy();
  expect(screen.queryByTestId("pdf-incomplete")).toBeNull();
});

test("a text that is too long for a reader is cut with a cue", async () => {
  open({ text: "x".repeat(20_001) });
  expect((await screen.findByText(/^x+/)).textContent).toMatch(/^x{20000} Parts may be missing/);
});

test.each([
  ["an image is missing", { draw: async () => false }],
  ["the file has to be read less strictly", { isStrict: false }],
])("a page says that parts may be missing: %s", async (_name, page) => {
  const onBroken = open(page);
  await state("drawn");
  expect(screen.getByTestId("pdf-incomplete").textContent).toContain("Save the file");
  expect(onBroken).not.toHaveBeenCalled();
});

test("a strict file that fails is opened again", async () => {
  const onBroken = open({ draw: fail("broken") });
  await waitFor(() => expect(onBroken).toHaveBeenCalledOnce());
  expect(screen.queryByRole("alert")).toBeNull();
});

test.each([["late", true], ["large", true], ["broken", false]] as const)("a page that is %s says so in its room", async (problem, isStrict) => {
  const onBroken = open({ isStrict, draw: fail(problem) });
  await state(problem);
  expect((await screen.findByRole("alert")).textContent).toContain("Save the file");
  expect(onBroken).not.toHaveBeenCalled();
});
