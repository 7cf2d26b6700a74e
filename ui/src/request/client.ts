import type { JsonObject, Request } from "../api/types";

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
