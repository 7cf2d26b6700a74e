import type { DynamicToolUIPart, TextUIPart, ToolUIPart, UIMessage } from "ai";
import type { Item, ItemOf } from "../thread/stream";

/** The question of a run, by the id of its request: what is asked, and whether it still is, the page reads itself. */
const question = "data-ringi-request";

/** What an agent tells beside its words: of such, that a workflow of an assistant has begun in a thread of its own. */
const custom = "data-ringi-custom";
const workflow = "assistant.workflow";

export type ChatMessage = UIMessage<unknown, {
  "ringi-request": { id?: string };
  "ringi-custom": { name: string; value: unknown };
  "ringi-superseded": { messageId: string };
}>;
type Part = ChatMessage["parts"][number];

/** What a message is made of, in its order; `key` is its place. */
export type ChatItem = Item | { key: number; kind: "thought"; text: string; open: boolean } | { key: number; kind: "workflow"; run: WorkflowRun };

/** A workflow that plans or carries out, and the thread whose stream has what it says. */
export interface WorkflowRun {
  thread: string;
  action: string;
  kind: string;
  version: number;
}

function workflowOf(part: Part): WorkflowRun | undefined {
  if (part.type !== custom || part.data.name !== workflow) return undefined;
  // Any agent can write an event of this name, with whatever it likes.
  const { thread_id, action_id, kind, version } = Object(part.data.value) as { [key: string]: unknown };
  if (typeof thread_id !== "string" || typeof action_id !== "string" || typeof kind !== "string" || typeof version !== "number") return undefined;
  return { thread: thread_id, action: action_id, kind, version };
}

const isTool = (part: Part): part is ToolUIPart | DynamicToolUIPart => part.type === "dynamic-tool" || part.type.startsWith("tool-");

/** The request that a part asks with. */
export function requestOf(part: Part): string | undefined {
  return part.type === question ? (part.id ?? part.data.id) : undefined;
}

/** Names a text whose place another has taken: the fragment of a worker that died, or a draft. */
const superseded = "data-ringi-superseded";

function isSuperseded({ providerMetadata }: TextUIPart, parts: readonly Part[]): boolean {
  const id = providerMetadata?.ringi?.messageId;
  return id !== undefined && parts.some((part) => part.type === superseded && part.data.messageId === id);
}

const toText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value ?? {}));

function resultOf(part: ToolUIPart | DynamicToolUIPart): string | null {
  if (part.state === "output-available") return toText(part.output);
  return part.state === "output-error" ? part.errorText : null;
}

function toolItem(part: ToolUIPart | DynamicToolUIPart, key: number): ItemOf<"tool"> {
  const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
  const until = part.state === "output-denied" ? 0 : null;
  return {
    key, at: null, kind: "tool", id: part.toolCallId, name, args: toText(part.input), result: resultOf(part),
    open: part.state === "input-streaming", until,
  };
}

function itemOf(part: Part, key: number, { parts, role }: ChatMessage): ChatItem | undefined {
  const request = requestOf(part);
  if (request !== undefined) return { key, at: null, kind: "pause", requests: [request] };
  const run = workflowOf(part);
  if (run) return { key, kind: "workflow", run };
  if (isTool(part)) return toolItem(part, key);
  if (part.type === "reasoning") return { key, kind: "thought", text: part.text, open: part.state === "streaming" };
  if (part.type !== "text" || part.text === "" || isSuperseded(part, parts)) return undefined;
  return { key, at: null, kind: "message", id: String(key), role, text: part.text, open: part.state === "streaming" };
}

/** Return what there is to show of a message; of a kind that this page does not know nothing is shown. */
export function itemsOf(message: ChatMessage): ChatItem[] {
  return message.parts.map((part, key) => itemOf(part, key, message)).filter((item) => item !== undefined);
}

export const textOf = ({ parts }: ChatMessage) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** The requests that a message asks with. */
export const requestsOf = ({ parts }: ChatMessage) => parts.map(requestOf).filter((id) => id !== undefined);

/** The newest that was written here, if the server does not have it. */
export function unsentMessage(localMessages: ChatMessage[], serverMessages: ChatMessage[]): ChatMessage | undefined {
  const last = localMessages.at(-1);
  return last?.role === "user" && serverMessages.every(({ id }) => id !== last.id) ? last : undefined;
}

/** What is shown already of the time before the newest part. */
export function messagesBefore(loaded: ChatMessage[], newest: ChatMessage[]): ChatMessage[] {
  return loaded.slice(0, Math.max(0, loaded.findIndex(({ id }) => id === newest[0]?.id)));
}
