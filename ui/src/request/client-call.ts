import { isObject, type JsonObject, type Request, type Json } from "../api/types";
import { folderOf } from "./granting";

/** Clients as their makers write their names. */
const clientNames: { readonly [client: string]: string } = {
  "claude-code": "Claude Code", codex: "Codex", cursor: "Cursor", vscode: "VS Code", zed: "Zed", "gemini-cli": "Gemini CLI", mcp: "MCP",
};

export const clientName = (client: string) => (Object.hasOwn(clientNames, client) ? clientNames[client] ?? client : client);

/** Return a name in the characters of an id, as the thread of a session begins with it. */
const inIds = (name: string) => name.replaceAll(/[^A-Za-z0-9._~:@-]+/g, "-").replace(/^[._~:@-]+/, "");

/** Return the client outside of Ringi that asks; undefined for any other request, also one with a customer as its client. */
export function clientOf({ context, thread_id: thread }: Request): string | undefined {
  const { client } = context;
  if (typeof client !== "string" || client === "") return undefined;
  return Object.hasOwn(clientNames, client) || thread?.startsWith(`${inIds(client)}:`) ? client : undefined;
}

/** Return the context without what the header of the request shows. */
export function withoutClient(request: Request): JsonObject {
  if (clientOf(request) === undefined) return request.context;
  const { client: _inHeader, folder, ...rest } = request.context;
  return typeof folder === "string" || folder === undefined ? rest : { ...rest, folder };
}

/** Return the name of the client in the id of a session, such as `codex:5f1c`. */
export const clientInSession = (thread: string) => (/^[^:]+(?=:)/.exec(thread) ?? [])[0];

export type Block = NonNullable<Request["display"]>[number];

/** The texts before and after an edit, by the names that clients give them. */
const editNames = [["old_string", "new_string"], ["old_str", "new_str"], ["old_text", "new_text"], ["oldText", "newText"], ["oldString", "newString"]] as const;
const contentNames = ["content", "contents", "file_text", "new_source", "text"];

/** The names of code in a call: a block shows the first that the call has, so that no other argument passes for it. */
const codeNames = [["command", "cmd"], ["patch", "input", "diff"], ["sql"], ["query", "statement"], ["body", "text", "html", "content", "message", "html_body"]];
const pathNames = ["file_path", "path", "filePath", "notebook_path", "filename", "file"];
const folderNames = ["workdir", "working_directory", "workingDirectory", "cwd"];
/** The number of rows on the first page of a table, which is the one that everybody sees. */
const maxRows = 20;

/** Return a word of a command as Python's `shlex.quote` writes it. */
const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** Return a command as one text, as `shell_command_text` of the server side writes it; undefined for anything else. */
function commandText(value: Json | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || value.length === 0 || !value.every((word) => typeof word === "string")) return undefined;
  const [shell = "", option = "", script = ""] = value;
  const isScript = value.length === 3 && /^(\/usr)?(\/bin\/)?(ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(option);
  return isScript ? script : value.map(quoted).join(" ");
}

type Edit = readonly [before: string, after: string];

/** Return the edit that an object describes; undefined if it describes none. */
function editIn(value: Json | undefined): Edit | undefined {
  if (!isObject(value)) return undefined;
  return editNames.map((names) => editBy(names, value)).find((edit) => edit !== undefined);
}

function editBy([old, changed]: readonly [string, string], value: JsonObject): Edit | undefined {
  const [before, after] = [value[old], value[changed]];
  return typeof before === "string" && typeof after === "string" ? [before, after] : undefined;
}

const isOnlyEdit = (value: Json) => isObject(value) && Object.keys(value).length === 2;

function blockTests(blocks: readonly Block[]) {
  return {
    isCode: (text: string | undefined) => text !== undefined && text !== "" && blocks.some((block) => block.type === "code" && block.text === text),
    isDiff: (edit: Edit | undefined) => edit !== undefined && blocks.some((block) => block.type === "diff" && block.before === edit[0] && block.after === edit[1]),
    isCell: (name: string, value: Json) =>
      blocks.some((block) => block.type === "table" && block.columns.length === 2 && block.rows.some((row) => row[0] === name && row[1] === value)),
  };
}

function isInBlocks(name: string, args: JsonObject, { isCode, isDiff, isCell }: ReturnType<typeof blockTests>): boolean {
  const value = args[name];
  if (isCode(commandText(value)) || (value !== undefined && isCell(name, value))) return true;
  const edited = editNames.find((names) => names.some((each) => each === name));
  if (edited) return isDiff(editBy(edited, args));
  if (contentNames.includes(name) && typeof value === "string") return isDiff(["", value]);
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((each) => isCell(name, each)) || (name === "edits" && value.every((each) => isOnlyEdit(each) && isDiff(editIn(each))));
}

/** Return the names of the arguments that the blocks of the call show whole: the page compares them and believes nobody. */
export function argumentsInBlocks(request: Request): ReadonlySet<string> {
  const args = request.action?.args ?? {};
  const tests = blockTests(splitBlocks(request).ofCall.map(({ block }) => block));
  return new Set(Object.keys(args).filter((name) => isInBlocks(name, args, tests)));
}

/** Return a call, or the call inside of its `action`. */
const parts = (args: JsonObject): JsonObject[] => [...(isObject(args.action) ? [args.action] : []), args];

const listedEdits = ({ edits, changes }: JsonObject) => [edits, changes].flatMap((each) => (Array.isArray(each) ? each : []));

const firstText = (value: Json, names: readonly string[]) =>
  (isObject(value) ? names.map((name) => value[name]).find((each) => typeof each === "string") : undefined);

/** Return the texts of a call that count as its code. */
function codeOf(args: JsonObject): (string | undefined)[] {
  const has = (names: readonly string[]) => (each: JsonObject) => names.some((name) => commandText(each[name]));
  const names = codeNames.find((each) => parts(args).some(has(each))) ?? [];
  return parts(args).flatMap((each) => names.map((name) => commandText(each[name])));
}

/** Return the title of a block if it is the folder, the path or the name of an argument; any other one is the agent's own. */
function checkedTitle(block: Block, args: JsonObject, folder: string | undefined): string | null {
  const name = block.title?.replace(/( · \d+\/\d+)?( · replace_all)?$/, "");
  if (!block.title || !name) return null;
  if (block.type === "code" && args[name] === block.text) return block.title;
  const places = [...[args, ...listedEdits(args)].map((each) => firstText(each, pathNames)), ...parts(args).map((each) => firstText(each, folderNames)), folder];
  const isPlace = (place: string) => place === name || place === `${folder ?? ""}/${name}` || (name.startsWith("…") && place.endsWith(name.slice(1)));
  return places.some((place) => place !== undefined && isPlace(place)) ? block.title : null;
}

/** Return whether all that a block shows below its title stands in the arguments; of a change, its end may be enough. */
function isOfCall(block: Block, args: JsonObject): "whole" | "end" | false {
  if (block.type === "code") return block.text !== "" && codeOf(args).includes(block.text) && "whole";
  if (block.type === "table") {
    const isArgument = ([name, value = null]: typeof block.rows[number]) => {
      const found = args[String(name)];
      return found === value || (Array.isArray(found) && found.includes(value));
    };
    return block.columns.length === 2 && block.rows.length > 0 && block.rows.length <= maxRows && block.rows.every(isArgument) && "whole";
  }
  if (block.type !== "diff") return false;
  const edits = [args, ...listedEdits(args)].map(editIn);
  if (edits.some((edit) => edit?.[0] === block.before && edit[1] === block.after)) return "whole";
  if (!contentNames.some((name) => args[name] === block.after)) return false;
  return block.before === "" ? "whole" : "end";
}

export interface CallBlock {
  block: Block;
  title: string | null;
  /** The text before the change is not in the arguments: the client has read it. */
  isBeforeUnchecked: boolean;
}

/** Return the blocks that show the call itself, and all others. */
export function splitBlocks(request: Request): { ofCall: CallBlock[]; others: Block[] } {
  const blocks = request.display ?? [];
  if (clientOf(request) === undefined) return { ofCall: [], others: blocks };
  const args = request.action?.args ?? {};
  const folder = folderOf(request);
  const found = blocks.map((block) => [block, isOfCall(block, args)] as const);
  return {
    ofCall: found.flatMap(([block, part]) => (part ? [{ block, title: checkedTitle(block, args, folder), isBeforeUnchecked: part === "end" }] : [])),
    others: found.flatMap(([block, part]) => (part ? [] : [block])),
  };
}
