// Name the exports, strings and CSS classes of the page that nothing uses; exit 1 if there are any.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const src = join(import.meta.dirname, "../src");
const files = readdirSync(src, { recursive: true }).map((file) => file.replaceAll("\\", "/"));
const read = (suffix) => files.filter((file) => suffix.test(file)).map((file) => ({ file, text: readFileSync(join(src, file), "utf8") }));
const modules = read(/\.tsx?$/);
const isTest = ({ file }) => file.includes(".test.") || file.startsWith("testing/");
/** A file with the texts of a feature in every language. */
const isTexts = ({ text }) => /^export const ja: typeof en\b/m.test(text);
const code = modules.filter((module) => !isTest(module) && !isTexts(module)).map(({ text }) => text).join("\n");

/** Return the exported names of a module that no other module imports. */
function unusedExports({ file, text }) {
  const names = [...text.matchAll(/^export (?:async )?(?:function|const|interface|type|class) (\w+)/gm)].map(([, name]) => name);
  const imports = modules.filter((other) => other.file !== file).map((other) => other.text).join("\n");
  const isImported = (name) => new RegExp(`^import [^;]*\\b${name}\\b[^;]* from "|\\bmodule\\.${name}\\b|\\bas ${name}\\b`, "m").test(imports);
  return names.filter((name) => !isImported(name)).map((name) => `${file}: nothing imports ${name}`);
}

/** Return the keys of a module's strings that nothing reads; records that are read by the server's names are left out. */
function unusedStrings({ file, text }) {
  const [, section = ""] = /^export const \w+ = \{\n(.*?)^\}/ms.exec(text) ?? [];
  const plain = section.replace(/\{[^{}]*\} as Record<string, \w+>/g, "null");
  const outer = [...plain.matchAll(/^ {2}(\w+)(?=[:(])/gm)].map(([, key]) => key);
  const shorthand = [...plain.matchAll(/^ {2}((?:\w+, )*\w+),$/gm)].flatMap(([, keys]) => keys.split(", "));
  const inner = [...plain.matchAll(/(?:^ {4,}|[{,] )(\w+): (?=["(`{])/gm)].map(([, key]) => key);
  const isRead = (key) => new RegExp(`\\.${key}\\b|[{,]\\s*${key}\\s*[,}:]|"${key}"`).test(code);
  const isNamed = (key) => isRead(key) || new RegExp(`\\b${key}:`).test(code);
  const unused = [...[...outer, ...shorthand].filter((key) => !isRead(key)), ...inner.filter((key) => !isNamed(key))];
  return [...new Set(unused)].map((key) => `${file}: nothing shows ${key}`);
}

/** Return the classes of a style sheet that no element has; `of-\${kind}` counts for all that begin so. */
function unusedClasses({ file, text }) {
  const selectors = text.replace(/\/\*.*?\*\//gs, "").replace(/\{[^{}]*\}/g, "{}");
  const names = new Set([...selectors.matchAll(/\.([A-Za-z][\w-]*)/g)].map(([, name]) => name));
  const isUsed = (name) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(code) || code.includes(` ${name.replace(/[^-]*$/, "")}\${`);
  return [...names].filter((name) => !name.startsWith("ant-") && !isUsed(name)).map((name) => `${file}: no element has .${name}`);
}

const found = [
  ...modules.filter((module) => !isTest(module) && module.file !== "api/schema.ts").flatMap(unusedExports),
  ...modules.filter(isTexts).flatMap(unusedStrings),
  ...read(/\.css$/).flatMap(unusedClasses),
];
for (const line of found) console.error(line);
process.exitCode = found.length > 0 ? 1 : 0;
