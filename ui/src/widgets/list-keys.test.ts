import { act, renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { useFrozenRows } from "./list-keys";

const rows = (...ids: string[]) => ids.map((id) => ({ id, status: "running" }));
const event = (changes: object = {}) => changes as never;

function held(...ids: string[]) {
  const { result, rerender } = renderHook(({ newest }) => useFrozenRows(newest), { initialProps: { newest: rows(...ids) } });
  return { ids: () => result.current.rows.map(({ id }) => id), now: () => result.current, show: (newest: ReturnType<typeof rows>) => rerender({ newest }) };
}

test("a list that nobody touches is always the newest", () => {
  const list = held("a");
  list.show(rows("b", "a"));
  expect([list.ids(), list.now().newCount]).toEqual([["b", "a"], 0]);
});

test("under the pointer no row comes or goes, and each still changes", () => {
  const list = held("b", "a");
  act(() => list.now().handlers.onPointerEnter?.(event()));
  list.show([{ id: "c", status: "running" }, { id: "b", status: "done" }]);
  expect([list.ids(), list.now().newCount]).toEqual([["b", "a"], 1]);
  expect(list.now().rows[0]?.status).toBe("done");
});

test("the reader lets in what is new, or leaves", () => {
  const list = held("a");
  act(() => list.now().handlers.onPointerEnter?.(event()));
  list.show(rows("b", "a"));
  act(() => list.now().showNew());
  expect(list.ids()).toEqual(["b", "a"]);
  list.show(rows("c", "b", "a"));
  expect([list.ids(), list.now().newCount]).toEqual([["b", "a"], 1]);
  act(() => list.now().handlers.onPointerLeave?.(event({ currentTarget: document.createElement("ul") })));
  expect(list.ids()).toEqual(["c", "b", "a"]);
});

test("the pointer may leave a list in which the focus stands", () => {
  const list = held("a");
  const inside = { contains: () => true };
  act(() => list.now().handlers.onPointerEnter?.(event()));
  act(() => list.now().handlers.onPointerLeave?.(event({ currentTarget: inside })));
  list.show(rows("b", "a"));
  expect(list.ids()).toEqual(["a"]);
});

test("the focus holds the list until it leaves it altogether", () => {
  const list = held("a");
  const inside = { contains: (other: unknown) => other === "inside", matches: () => false };
  act(() => list.now().handlers.onFocus?.(event()));
  act(() => list.now().handlers.onBlur?.(event({ currentTarget: inside, relatedTarget: "inside" })));
  list.show(rows("b", "a"));
  expect(list.ids()).toEqual(["a"]);
  act(() => list.now().handlers.onBlur?.(event({ currentTarget: inside, relatedTarget: null })));
  expect(list.ids()).toEqual(["b", "a"]);
});
