// Check the layers of the page, and that no file has two components that others import; exit 1 and name each offender.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** From the bottom up: a file imports from its own folder and from the folders of earlier lines. */
const layers = [
  ["base"], ["api"], ["strings"], ["widgets"], ["charts", "values"], ["form", "pauses"], ["request"], ["thread"],
  ["chat", "grants", "inbox", "memory", "operations", "overview", "sessions"], ["apps/assistant", "apps/learning"], ["apps"], ["shell"], ["."], ["testing"],
];
const src = join(import.meta.dirname, "../src");
const files = readdirSync(src, { recursive: true }).map((file) => file.replaceAll("\\", "/")).filter((file) => /\.tsx?$/.test(file) && !file.includes(".test."));
const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), "utf8")]));
const layerOf = (file) => layers.findIndex((folders) => folders.includes(dirname(file)));

/** Return the file that a path leads to, as seen from another file. */
function resolve(from, path) {
  const to = normalize(join(dirname(from), path)).replaceAll("\\", "/");
  return ["", ".ts", ".tsx", "/index.ts"].map((end) => (to === "." ? "index.ts" : to + end)).find((file) => texts.has(file));
}

/** The imports of each file: from where, and which names. */
const imports = files.flatMap((from) => [...texts.get(from).matchAll(/^(?:import|export)\b ?([^;]*?)(?:from )?"(\.[^"]*)";|\bimport\("(\.[^"]*)"\)/gms)].map(([, names = "default", path, later]) =>
  ({ from, to: resolve(from, path ?? later), names: names.match(/\w+/g) ?? [], isDefault: !names.trimStart().startsWith("{") && !names.startsWith("type {") })));

const upward = imports.filter(({ from, to }) => to && dirname(from) !== dirname(to) && layerOf(from) <= layerOf(to))
  .map(({ from, to }) => `${from}: imports ${to}, which is not below it`);

const unknown = files.filter((file) => layerOf(file) < 0).map((file) => `${file}: its folder is in no layer`);

/** Return the components of a file that other files import. */
function componentsOf(file) {
  const exported = [...texts.get(file).matchAll(/^export (default )?(?:async )?(?:function|const) ([A-Z][a-z]\w*)(?! = createContext)/gm)];
  const from = imports.filter(({ to, from: other }) => to === file && !other.startsWith("testing/"));
  return exported.filter(([, isDefault, name]) => from.some((one) => (isDefault ? one.isDefault : one.names.includes(name)))).map(([, , name]) => name);
}

const crowded = files.filter((file) => file.endsWith(".tsx")).map((file) => ({ file, names: componentsOf(file) }))
  .filter(({ names }) => names.length > 1).map(({ file, names }) => `${file}: others import ${names.join(" and ")}; give each a file of its own`);

const found = [...unknown, ...upward, ...crowded];
for (const line of found) console.error(line);
process.exitCode = found.length > 0 ? 1 : 0;
