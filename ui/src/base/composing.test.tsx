import { Sender } from "@ant-design/x";
import { fireEvent, render, screen } from "@testing-library/react";
import { AutoComplete, Input, Select } from "antd";
import { readdirSync, readFileSync } from "node:fs";
import { useState, type ReactNode } from "react";
import { expect, test, vi } from "vitest";
import "./composing";
import { useKeys } from "./keys";

function Shortcuts({ act }: { act: () => void }) {
  useKeys("Here", [{ key: "Enter", label: "confirm", run: act, whileTyping: true }]);
  return <input aria-label="text" />;
}

function Tags({ act }: { act: () => void }) {
  const [tags, set] = useState<string[]>([]);
  return <Select aria-label="text" mode="tags" open={false} value={tags} onChange={(next) => { set(next); act(); }} />;
}

const kinds: Record<string, (act: () => void) => ReactNode> = {
  shortcut: (act) => <Shortcuts act={act} />,
  "own handler": (act) => <input aria-label="text" onKeyDown={act} />,
  onPressEnter: (act) => <Input aria-label="text" onPressEnter={act} />,
  "select of tags": (act) => <Tags act={act} />,
  "offered names": (act) => <AutoComplete aria-label="text" onInputKeyDown={act} />,
  message: (act) => <Sender components={{ input: (props) => <Input.TextArea {...props} aria-label="text" /> }} defaultValue="変換" onSubmit={act} />,
};

test.each(Object.entries(kinds))("Enter that ends a conversion does nothing else: %s", (_kind, of) => {
  const act = vi.fn<() => void>();
  render(of(act));
  const text = screen.getByLabelText("text");
  fireEvent.compositionStart(text);
  fireEvent.change(text, { target: { value: "変換する" } });
  fireEvent.keyDown(text, { key: "Enter", isComposing: true, keyCode: 229 });
  fireEvent.compositionEnd(text);
  fireEvent.keyDown(text, { key: "Enter", keyCode: 229, which: 229 });
  expect(act).not.toHaveBeenCalled();
  fireEvent.keyUp(text, { key: "Enter", keyCode: 13, which: 13 });
  fireEvent.keyDown(text, { key: "Enter", keyCode: 13, which: 13 });
  expect(act).toHaveBeenCalledTimes(1);
});

test("a listener of the window hears no key of an input method", () => {
  const act = vi.fn<() => void>();
  render(<input aria-label="text" />);
  window.addEventListener("keydown", act);
  fireEvent.keyDown(screen.getByLabelText("text"), { key: "Escape", keyCode: 229 });
  window.removeEventListener("keydown", act);
  expect(act).not.toHaveBeenCalled();
});

test("a key that begins a text elsewhere still moves to its field", () => {
  const act = vi.fn<() => void>();
  render(<button type="button" onKeyDown={act}>late</button>);
  fireEvent.keyDown(screen.getByRole("button"), { key: "Process", keyCode: 229 });
  expect(act).toHaveBeenCalledTimes(1);
});

test("the page starts with it", () => {
  expect(readFileSync("src/main.tsx", "utf8")).toMatch(/^import "\.\/base\/composing";$/m);
});

test("no handler of keys goes past it", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => /(?<!\.test)\.tsx?$/.test(file) && !file.startsWith("base/composing"));
  const past = /onKeyUp|onKeyPress|"key(?:up|press)"|(?:window|document)\.addEventListener\("keydown"[^;]*(?:capture|true\))|\.isComposing|keyCode/;
  expect(files.filter((file) => past.test(readFileSync(`src/${file}`, "utf8")))).toEqual([]);
});
