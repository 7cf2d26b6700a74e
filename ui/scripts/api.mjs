// Write src/api/schema.ts, the types of the API, from the server's OpenAPI document and event names. It is not committed; with --if-missing it is written only if it does not exist.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const inRoot = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const python = [".venv/bin/python", ".venv/Scripts/python.exe"].map(inRoot).find((path) => existsSync(path)) ?? "python";
const file = fileURLToPath(new URL("../src/api/schema.ts", import.meta.url));
const read = `
import json
from fastapi import FastAPI
from ringi.domain.events import AUDIT_EVENTS, FEED_EVENTS, TENANT_EVENTS
from ringi.server.extension import installed_extensions
from ringi.server.openapi import openapi_document
schemas = openapi_document(FastAPI(), installed_extensions())["components"]["schemas"]
names = {"FeedEventName": FEED_EVENTS, "AuditEventName": AUDIT_EVENTS, "TenantEventName": TENANT_EVENTS}
print(json.dumps({"schemas": schemas, "names": names}))`;

const bannerComment = `/* Written by \`npm run api\` from the models of the server, and not committed. */

export type Json = string | number | boolean | null | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };
`;

const options = {
  bannerComment, unreachableDefinitions: true, additionalProperties: false, ignoreMinAndMaxItems: true,
  style: { printWidth: 120 },
};

function record({ propertyNames, additionalProperties: { $ref } }) {
  const keys = propertyNames.enum.map((name) => JSON.stringify(name)).join(" | ");
  return `Partial<Record<${keys}, ${$ref.split("/").at(-1)}>>`;
}

/** Add types that json-schema-to-typescript cannot derive: `Json` for any JSON, and records with fixed keys. */
function withTypes(schema) {
  if (schema.additionalProperties === true) return { tsType: "JsonObject" };
  return schema.propertyNames?.enum ? { tsType: record(schema) } : schema;
}

/** Remove titles, because each titled property would become a separate type: Title, Title1, Title2, … */
function withoutTitles(node) {
  if (Array.isArray(node)) return node.map(withoutTitles);
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node).filter(([key, value]) => key !== "title" || typeof value !== "string");
  return withTypes(Object.fromEntries(entries.map(([key, value]) => [key, withoutTitles(value)])));
}

async function generate() {
  const output = execFileSync(python, ["-c", read], { encoding: "utf8" });
  const { schemas, names } = JSON.parse(output.replaceAll("#/components/schemas/", "#/$defs/"));
  const $defs = withoutTitles(schemas);
  const source = await compile({ title: "Root", type: "object", additionalProperties: false, $defs }, "Root", options);
  const noise = / \*\n \* This interface was referenced by[^*]*\n \* via[^*]*\n/g;
  const unions = Object.entries(names).map(([name, values]) => `export type ${name} = ${values.map((each) => JSON.stringify(each)).join(" | ")};\n`);
  return [source.replace("export interface Root {}\n", "").replaceAll(noise, ""), ...unions].join("\n");
}

if (!existsSync(file) || !process.argv.includes("--if-missing")) {
  const types = await generate();
  const isNew = !existsSync(file) || readFileSync(file, "utf8") !== types;
  // Another check may read or write it at the same time.
  if (isNew) writeFileSync(`${file}.${process.pid}`, types);
  if (isNew) renameSync(`${file}.${process.pid}`, file);
}
