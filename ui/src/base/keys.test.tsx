import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { shortcutGroups, useKeys, type Shortcut } from "./keys";

function Keys({ shortcuts, title = "Here" }: { shortcuts: Shortcut[]; title?: string }) {
  useKeys(title, shortcuts);
  return <input aria-label="text" />;
}

const noting = (pressed: string[], ...keys: string[]) => keys.map((key) => ({ key, label: key, run: () => void pressed.push(key) }));
const press = (...keys: string[]) => keys.forEach((key) => fireEvent.keyDown(document.body, { key }));

test("two keys in a row are a shortcut of their own, and win over the second alone", () => {
  const pressed: string[] = [];
  render(<Keys shortcuts={noting(pressed, "g i", "i")} />);
  press("g", "i");
  expect(pressed).toEqual(["g i"]);
  press("x", "i");
  expect(pressed).toEqual(["g i", "i"]);
});

test("what is typed is no shortcut, unless the shortcut says so", () => {
  const pressed: string[] = [];
  render(<Keys shortcuts={[...noting(pressed, "a"), ...noting(pressed, "mod+Enter").map((one) => ({ ...one, whileTyping: true }))]} />);
  const text = screen.getByLabelText("text");
  fireEvent.keyDown(text, { key: "a" });
  fireEvent.keyDown(text, { key: "Enter", ctrlKey: true });
  expect(pressed).toEqual(["mod+Enter"]);
});

test("a dialog has the keys for itself", () => {
  const pressed: string[] = [];
  render(<><Keys shortcuts={noting(pressed, "a")} /><div className="ant-modal-wrap" /></>);
  press("a");
  expect(pressed).toEqual([]);
});

test("the newest part of the page wins a key, and gives it back when it goes", () => {
  const pressed: string[] = [];
  render(<Keys shortcuts={noting(pressed, "a")} />);
  const newer = render(<Keys title="There" shortcuts={[{ key: "a", label: "newer", run: () => void pressed.push("newer") }]} />);
  press("a");
  newer.unmount();
  press("a");
  expect(pressed).toEqual(["newer", "a"]);
  cleanup();
  expect(shortcutGroups()).toEqual([]);
});
