import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as assistant from "../apps/assistant/texts";
import * as playbook from "../apps/learning/playbook-texts";
import * as learning from "../apps/learning/texts";
import { en, type Strings } from ".";
import { en as enChat } from "./chat";
import { en as enDetail } from "./detail";
import { en as enHistory } from "./history";
import { en as enMemory } from "./memory";
import { en as enOperations } from "./operations";
import { en as enOverview } from "./overview";
import { ja } from "./ja";
import { zh } from "./zh";

const english: Strings = {
  ...en,
  parts: { chat: enChat, detail: { ...enDetail, ...enHistory }, memory: enMemory, overview: enOverview, operations: enOperations },
};

/** Code, names, formats and keys that are the same in every language, and the values of samples. */
const data = /`[^`]*`|Ringi|Engrammer|JSON|URL|http|CSV|PDF|Bcc|PNG|JPEG|GIF|WebP|Markdown|Ctrl|Alt|Enter|Esc|Tab|Shift|NaN|undefined|^Ref$/g;

/** Return a string for any place: of an argument, or of a member of it. */
const argument: unknown = new Proxy(() => "x", {
  get: (_, name) => (name === Symbol.toPrimitive || name === "toString" ? () => "x" : name === Symbol.iterator ? function* none() { yield "x"; } : argument),
});

/** Yield each text with its path; a function is called with samples. */
function* texts(value: unknown, path: string): Generator<[string, string]> {
  if (typeof value === "string") yield [path, value];
  else if (typeof value === "function") yield* texts(sample(value as (...all: unknown[]) => unknown), `${path}()`);
  else if (typeof value === "object" && value !== null) for (const [name, each] of Object.entries(value)) yield* texts(each, `${path}.${name}`);
}

function sample(made: (...all: unknown[]) => unknown): unknown {
  for (const each of ["x", 2, ["x"]]) {
    try {
      return made(each, each, each, each);
    } catch {
      // Another kind of argument is expected.
    }
  }
  return made(argument, argument, argument, argument);
}

/** The strings of a language, without the catalogue, which the server's tests check. */
const all = (strings: object) => new Map([...texts(strings, "")].filter(([path]) => !path.startsWith(".texts.")));

const ofApplications = {
  en: { assistant: assistant.en, learning: learning.en, playbook: playbook.en },
  ja: { assistant: assistant.ja, learning: learning.ja, playbook: playbook.ja },
  zh: { assistant: assistant.zh, learning: learning.zh, playbook: playbook.zh },
};

test.each([["ja", ja], ["zh", zh]] as const)("every string of the page has its own text in %s", (language, strings) => {
  const own = all({ ...strings, ...ofApplications[language] });
  expect(own.size).toBeGreaterThan(500);
  expect([...own.keys()].sort()).toEqual([...all({ ...english, ...ofApplications.en }).keys()].sort());
  expect([...own].filter(([, text]) => /[A-Za-z]{3,}/.test(text.replaceAll(data, "")))).toEqual([]);
});

test("no component has a text of its own", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => /(?<!\.test)\.tsx$/.test(file) && !file.startsWith("testing"));
  const literals = /\b(?:aria-label|title|placeholder|alt|label)="([^"]*)"|<(\w+)[^<>]*>([^<>{}=;]*)<\/\2>/g;
  const found = files.flatMap((file) => [...readFileSync(`src/${file}`, "utf8").matchAll(literals)].map(([, attribute, , content]) => attribute ?? content ?? ""));
  expect(files.length).toBeGreaterThan(80);
  expect(found.filter((text) => /[A-Za-z]{3,}/.test(text.replaceAll(data, "")))).toEqual([]);
});
