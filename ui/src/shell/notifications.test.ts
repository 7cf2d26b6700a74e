import { renderHook } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => {
  document.head.replaceChildren();
  vi.doUnmock("../base/router");
  vi.resetModules();
});

test("the icon of the tab is asked for below the path of another application", async () => {
  document.head.innerHTML = '<link rel="icon" href="/ringi/stamp.svg">';
  vi.resetModules();
  vi.doMock("../base/router", () => ({ basePath: "/ringi" }));
  const { useBadge } = await import("./notifications");
  const href = () => document.querySelector("link[rel=icon]")?.getAttribute("href");
  const { rerender } = renderHook(({ count }) => { useBadge(count); }, { initialProps: { count: "2" } });
  expect([href(), document.title]).toEqual(["/ringi/stamp-dot.svg", "(2) Ringi"]);
  rerender({ count: "" });
  expect([href(), document.title]).toEqual(["/ringi/stamp.svg", "Ringi"]);
});
