import type { DynamicToolUIPart, TextUIPart, ToolUIPart, UIMessage, FileUIPart } from "ai";
import { noResult } from "../strings/catalogue";
import type { Item, ItemOf } from "../thread/stream";

/** A run's question, by the id of its request. The page reads the request's content and status itself. */
const question = "data-ringi-request";

/** A custom event of an agent. One of them says that a workflow started in its own thread. */
const custom = "data-ringi-custom";
const workflow = "assistant.workflow";

export type ChatMessage = UIMessage<unknown, {
  "ringi-request": { id?: string };
  "ringi-custom": { name: string; value: unknown };
  "ringi-superseded": { messageId: string };
}>;
type Part = ChatMessage["parts"][number];

/** One item of a message, in order; `key` is its position. */
export type ChatItem = Item | { key: number; kind: "thought"; text: string; open: boolean } | { key: number; kind: "workflow"; run: WorkflowRun };

/** A planning or executing workflow, and the thread that streams its output. */
export interface WorkflowRun {
  thread: string;
  action: string;
  kind: string;
  version: number;
}

function workflowOf(part: Part): WorkflowRun | undefined {
  if (part.type !== custom || part.data.name !== workflow) return undefined;
  // Any agent can send an event of this name with any value.
  const { thread_id, action_id, kind, version } = Object(part.data.value) as { [key: string]: unknown };
  if (typeof thread_id !== "string" || typeof action_id !== "string" || typeof kind !== "string" || typeof version !== "number") return undefined;
  return { thread: thread_id, action: action_id, kind, version };
}

const isTool = (part: Part): part is ToolUIPart | DynamicToolUIPart => part.type === "dynamic-tool" || part.type.startsWith("tool-");

/** Return the id of the request that a part asks. */
function requestOf(part: Part): string | undefined {
  return part.type === question ? (part.id ?? part.data.id) : undefined;
}

/** Names a text that was replaced: a draft, or the output of a worker that died. */
const superseded = "data-ringi-superseded";

function isSuperseded({ providerMetadata }: TextUIPart, parts: readonly Part[]): boolean {
  const id = providerMetadata?.ringi?.messageId;
  return id !== undefined && parts.some((part) => part.type === superseded && part.data.messageId === id);
}

const toText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value ?? {}));

/** Return whether a call ended without a result; the server says so in English. */
const hasNoResult = (part: ToolUIPart | DynamicToolUIPart) =>
  part.state === "output-denied" || (part.state === "output-error" && part.errorText === noResult);

function resultOf(part: ToolUIPart | DynamicToolUIPart): string | null {
  if (part.state === "output-available") return toText(part.output);
  return part.state === "output-error" && !hasNoResult(part) ? part.errorText : null;
}

function toolItem(part: ToolUIPart | DynamicToolUIPart, key: number, later: Part[]): ItemOf<"tool"> {
  const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
  const until = hasNoResult(part) ? 0 : null;
  return {
    key, at: null, kind: "tool", id: part.toolCallId, name, args: toText(part.input), result: resultOf(part),
    open: part.state === "input-streaming", until, waits: later.map(requestOf).filter((id) => id !== undefined),
  };
}

function itemOf(part: Part, key: number, { parts, role }: ChatMessage): ChatItem | undefined {
  const request = requestOf(part);
  if (request !== undefined) return { key, at: null, kind: "pause", requests: [request] };
  const run = workflowOf(part);
  if (run) return { key, kind: "workflow", run };
  if (isTool(part)) return toolItem(part, key, parts.slice(key + 1));
  if (part.type === "reasoning") return { key, kind: "thought", text: part.text, open: part.state === "streaming" };
  if (part.type !== "text" || part.text === "" || isSuperseded(part, parts)) return undefined;
  return { key, at: null, kind: "message", id: String(key), role, text: part.text, open: part.state === "streaming" };
}

/** Return the items to show for a message; unknown kinds are left out. */
export function itemsOf(message: ChatMessage): ChatItem[] {
  return message.parts.map((part, key) => itemOf(part, key, message)).filter((item) => item !== undefined);
}

export const textOf = ({ parts }: ChatMessage) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** Return the ids of the requests that a message asks. */
export const requestsOf = ({ parts }: ChatMessage) => parts.map(requestOf).filter((id) => id !== undefined);

/** Return the newest local message if the server does not have it. */
export function unsentMessage(localMessages: ChatMessage[], serverMessages: ChatMessage[]): ChatMessage | undefined {
  const last = localMessages.at(-1);
  return last?.role === "user" && serverMessages.every(({ id }) => id !== last.id) ? last : undefined;
}

/** Return the loaded messages that are older than the newest page. */
export function messagesBefore(loaded: ChatMessage[], newest: ChatMessage[]): ChatMessage[] {
  return loaded.slice(0, Math.max(0, loaded.findIndex(({ id }) => id === newest[0]?.id)));
}

export const isImage = (part: { type: string; mediaType?: string }): part is FileUIPart =>
  part.type === "file" && part.mediaType?.startsWith("image/") === true;
