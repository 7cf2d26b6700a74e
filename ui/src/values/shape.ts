import { type Json, type JsonObject, isObject } from "../api/types";

/** How a value is drawn. It follows from the value; a declared type only says which of two likenesses counts. */
export type Shape =
  | { kind: "plain" | "text" | "markdown" | "diff" | "tree" | "mail" }
  | { kind: "code"; language: string }
  | { kind: "table"; columns: string[] }
  | { kind: "image" | "pdf"; media: string; data: string }
  | { kind: "link"; url: string };

/** Text that does not fit into one line of a table of arguments. */
const longText = 120;
const maxColumns = 12;
const maxCell = 300;

/** The beginnings of files in base64: what a file is follows from its bytes. */
const beginnings = { iVBORw0KGgo: "image/png", R0lGOD: "image/gif", "/9j/": "image/jpeg", UklGR: "image/webp", JVBERi0: "application/pdf" };
const dataUrl = /^data:[\w.+/-]+;base64,/;
/** Shorter base64 is a word as likely as a file. */
const minFile = 64;

function fileOf(value: string): Shape | null {
  const data = value.slice(dataUrl.exec(value)?.[0].length ?? 0);
  const media = Object.entries(beginnings).find(([start]) => data.startsWith(start))?.[1];
  if (!media || data.length < minFile || !/^[\w+/-]+={0,2}$/.test(data)) return null;
  return { kind: media === "application/pdf" ? "pdf" : "image", media, data };
}

/** Return whether a text is an address that may become a link. */
export const isWebAddress = (text: string) => /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);

const sqlStart = /^\s*(?:select\b[^;]{0,2000}\bfrom\b|insert\s+into\b|update\s+\S+(?:(?:\s+as)?\s+\w+)?\s+set\s+(?:\(|(?:"[^"]*"|[\w.`[\]])+\s*=)|delete\s+from\b|(?:create|alter|drop)\s+(?:table|index|view|database|schema|user|role)\b|truncate\s+\S|with\s+\w+\s+as\s*\()/i;
const isPatch = (text: string) => /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m.test(text) && /^[+-]/m.test(text);

const languages: Record<string, string> = {
  "application/sql": "sql", "text/x-sql": "sql", "application/json": "json", "text/html": "markup", "application/xml": "markup", "text/xml": "markup",
  "text/css": "css", "text/javascript": "javascript", "application/javascript": "javascript", "text/x-python": "python", "text/x-shellscript": "bash",
  "application/x-sh": "bash", "application/yaml": "yaml", "text/yaml": "yaml", sql: "sql", json: "json", html: "markup", python: "python",
};

/** Return the shape that a schema declares for a text; null if it declares none that the page knows. */
function declaredShape(schema: JsonObject | null): Shape | null {
  for (const type of [schema?.contentMediaType, schema?.format]) {
    if (typeof type !== "string") continue;
    const media = type.split(";")[0]?.trim().toLowerCase() ?? "";
    const language = Object.hasOwn(languages, media) ? languages[media] : undefined;
    if (language) return { kind: "code", language };
    if (/^(?:text\/(?:x-)?)?markdown$/.test(media)) return { kind: "markdown" };
    if (/^(?:text\/x-)?(?:diff|patch)$/.test(media)) return { kind: "diff" };
    if (media === "text/plain" || media === "multiline") return { kind: "text" };
  }
  return null;
}

/** The names of arguments that hold code, each with its language. */
const codeNames: Record<string, string> = { sql: "sql", command: "bash", cmd: "bash", script: "code", code: "code", source_code: "code" };

function textShape(name: string, value: string, schema: JsonObject | null): Shape {
  const declared = declaredShape(schema) ?? fileOf(value);
  if (declared) return declared;
  if (isWebAddress(value)) return { kind: "link", url: value };
  if (isPatch(value)) return { kind: "diff" };
  if (sqlStart.test(value)) return { kind: "code", language: "sql" };
  const isLong = value.length > longText || value.includes("\n");
  const language = Object.hasOwn(codeNames, name) ? codeNames[name] : undefined;
  if (isLong && language !== undefined) return { kind: "code", language };
  return { kind: isLong ? "text" : "plain" };
}

const isCell = (value: Json | undefined) => typeof value === "string" ? value.length <= maxCell && !value.includes("\n") : !isObject(value) && !Array.isArray(value);

/** Return the columns of a list of equal objects; null for any other list. */
function columnsOf(rows: readonly Json[]): string[] | null {
  const [first] = rows;
  if (!isObject(first)) return null;
  const columns = Object.keys(first);
  if (columns.length === 0 || columns.length > maxColumns) return null;
  const isRow = (row: Json) =>
    isObject(row) && Object.keys(row).length === columns.length && columns.every((name) => Object.hasOwn(row, name) && isCell(row[name]));
  return rows.every(isRow) ? columns : null;
}

const bodyNames = ["body", "text", "html", "html_body", "content", "message"];
const peopleNames = ["from", "to", "cc", "bcc", "reply_to", "replyTo"];
const isPeople = (value: Json | undefined) =>
  (typeof value === "string" && value !== "") || (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string"));

/** The parts of a mail, each under the name that its argument has. */
export interface Mail {
  people: [name: string, value: string[]][];
  subject: string;
  bodies: [name: string, value: string][];
}

/** Return the mail that an object is: somebody to write to, a subject and a text; null for any other object. */
export function mailOf(value: JsonObject): Mail | null {
  const bodies = bodyNames.flatMap((name): Mail["bodies"] => (typeof value[name] === "string" ? [[name, value[name]]] : []));
  if (!isPeople(value.to) || typeof value.subject !== "string" || bodies.length === 0) return null;
  const people = peopleNames.filter((name) => isPeople(value[name])).map((name) => [name, [value[name] ?? ""].flat() as string[]] as [string, string[]]);
  return { people, subject: value.subject, bodies };
}

/** Return the names of an object that its mail shows. */
export const mailNames = ({ people, bodies }: Mail) => new Set(["subject", ...people.map(([name]) => name), ...bodies.map(([name]) => name)]);

/** Return how a value is drawn: by the type that its schema declares, else by what it looks like. */
export function shapeOf(name: string, value: Json, schema: JsonObject | null): Shape {
  if (typeof value === "string") return textShape(name, value, schema);
  if (Array.isArray(value)) {
    const columns = columnsOf(value);
    if (columns) return { kind: "table", columns };
    return { kind: value.length === 0 ? "plain" : "tree" };
  }
  if (!isObject(value) || Object.keys(value).length === 0) return { kind: "plain" };
  return { kind: mailOf(value) ? "mail" : "tree" };
}
