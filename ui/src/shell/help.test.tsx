import { fireEvent, screen, within } from "@testing-library/react";
import { useState } from "react";
import { beforeEach, expect, test } from "vitest";
import keys from "../../../src/ringi/base/keys.json";
import { serve, show } from "../testing/fake-server";
import { useKeys } from "../base/keys";
import Help from "./help";

beforeEach(() => void serve(() => [204, null]));

function Opened({ page, bound }: { page: string; bound: string[] }) {
  useKeys("Everywhere", bound.map((key) => ({ key, label: key, run: () => undefined })));
  const [isOpen, setOpen] = useState(false);
  return isOpen ? <Help page={page} onClose={() => undefined} /> : <button type="button" onClick={() => setOpen(true)}>open</button>;
}

function open(page: string, bound: string[]) {
  show(<Opened page={page} bound={bound} />);
  fireEvent.click(screen.getByText("open"));
}

const labelsIn = (area: string) =>
  within(screen.getByTestId("help").querySelector<HTMLElement>(`[data-area=${area}]`) as HTMLElement).getAllByRole("definition").map((one) => one.textContent);

test.each([
  ["inbox", ["list", "request", "field"]], ["threads", ["threads", "thread", "request", "field"]], ["learning", ["learning", "request"]],
  ["memory", ["memory"]], ["operations", ["operations"]],
] as const)("the help of %s has every key of its areas, also those that wait for something", (page, areas) => {
  open(page, []);
  for (const area of areas) expect(labelsIn(area)).toEqual(keys[area].filter((row) => row.page.length > 0).map(({ label }) => label.en));
});

test.each(Object.keys(keys) as (keyof typeof keys)[])("no key stands twice in the help of %s, but for the one that depends on the place", (area) => {
  const all = keys[area].flatMap((row): string[] => row.page);
  expect(all.filter((key, at) => all.indexOf(key) !== at)).toEqual(area === "request" ? ["Enter"] : []);
});

test("of the keys of everywhere the help lists those of pages that this person has", () => {
  open("overview", ["g i", "?"]);
  expect(labelsIn("everywhere")).toEqual(["Help", "Go to the inbox"]);
});
