import { expect, test } from "vitest";
import { known, type Known } from "../../testing/known";
import type { Entry } from "./api";
import { figuresByVersion } from "./playbook";

const line = (isActive: boolean) => ({ section: "strategies", text: "x", applies_when: "", isActive, mergedInto: null });
const entry = (version: number, changes: Known<Entry>) => known<Entry>({ version, changes: [], tags: [], ...changes });
const tags = (...all: Entry["tags"][number]["tag"][]) => all.map((tag) => ({ bullet: "b", tag }));

const history = [
  entry(5, { op: "retire", changes: [{ bullet: "b", before: line(true), after: line(false) }] }),
  entry(4, { op: "tag", tags: tags("helpful", "used", "harmful") }),
  entry(3, { op: "add", changes: [{ bullet: "c", before: null, after: line(true) }] }),
  entry(2, { op: "tag", tags: tags("helpful", "helpful", "neutral") }),
  entry(1, { op: "add", changes: [{ bullet: "b", before: null, after: line(true) }] }),
];

test("size and accuracy are counted back from what the playbook is now", () => {
  expect(figuresByVersion(history, 1, { helpful: 3, harmful: 1 })).toEqual([
    { version: 1, size: 1, accuracy: null },
    { version: 2, size: 1, accuracy: 1 },
    { version: 3, size: 2, accuracy: 1 },
    { version: 4, size: 2, accuracy: 0.75 },
    { version: 5, size: 1, accuracy: 0.75 },
  ]);
});

test("a history that is not whole still ends at what is true now", () => {
  expect(figuresByVersion(history.slice(0, 2), 1, { helpful: 9, harmful: 1 }).map(({ size, accuracy }) => [size, accuracy])).toEqual([[2, 0.9], [1, 0.9]]);
});
