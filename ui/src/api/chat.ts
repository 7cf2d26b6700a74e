import { useQueries } from "@tanstack/react-query";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { basePath } from "../widgets/base-path";
import { call, isStatus, problemOf, ProblemError } from "./call";
import { requestQuery } from "./requests";
import type { Chat } from "./schema";
import { threadPath } from "./threads";
import type { Agent, Request, Thread } from "./types";

const path = (id: string) => `/v1/chat/${encodeURIComponent(id)}`;

/** Whether an agent can be written to. */
export function takesMessages({ input_schema }: Agent): boolean {
  const { properties } = input_schema;
  return typeof properties === "object" && properties !== null && "messages" in properties;
}

const ignoreNotFound = (error: unknown) => {
  if (isStatus(error, 404)) return undefined;
  throw error;
};

/** A message from its parts, by the reader that reads it while it streams: both ways it is the same. */
async function messageOf<M extends UIMessage>(parts: UIMessageChunk[]): Promise<M[]> {
  let message: M | undefined;
  const stream = new ReadableStream<UIMessageChunk>({
    start: (reader) => {
      for (const part of parts) reader.enqueue(part);
      reader.close();
    },
  });
  for await (const read of readUIMessageStream<M>({ stream })) message = read;
  return message ? [message] : [];
}

interface MessagePage<M> {
  messages: M[];
  /** Where what was said before goes on; null at the beginning of the chat. */
  earlierCursor: string | null;
}

async function toMessagePage<M extends UIMessage>({ runs, next }: Chat): Promise<MessagePage<M>> {
  const pages = runs.map(async ({ messages, parts }) =>
    [...messages as unknown as M[], ...await messageOf<M>(parts as unknown as UIMessageChunk[])]);
  return { messages: (await Promise.all(pages)).flat(), earlierCursor: next };
}

/** The newest part of what was said, and the thread as it is now; nothing where there is none (yet). */
export async function readChat<M extends UIMessage>(id: string): Promise<MessagePage<M> & { thread: Thread | undefined }> {
  const thread = await call<Thread>("GET", threadPath(id)).catch(ignoreNotFound);
  return thread ? { ...await toMessagePage<M>(await call<Chat>("GET", path(id))), thread } : { messages: [], earlierCursor: null, thread };
}

/** What was said before. */
export async function readEarlier<M extends UIMessage>(id: string, before: string): Promise<MessagePage<M>> {
  return toMessagePage<M>(await call<Chat>("GET", `${path(id)}?cursor=${encodeURIComponent(before)}`));
}

/** Sends a call that has images. */
export type Send = (url: string, init: RequestInit) => Promise<globalThis.Response>;

/** Within words this would have other quotation marks. */
const hasImages = ({ body }: RequestInit) => typeof body === "string" && body.includes('"type":"file"');

async function fetchStream(send: Send, input: string, init: RequestInit): Promise<globalThis.Response> {
  const reply = await (hasImages(init) ? send : fetch)(input, init).catch((error: unknown) => {
    if (init.signal?.aborted || hasImages(init)) throw error;
    throw new ProblemError(0, { detail: error instanceof Error ? error.message : String(error) });
  });
  if (!reply.ok) throw await problemOf(reply);
  return reply;
}

/** Questions are answered by their cards, not through the stream: so it stays open while they wait. */
const holdQuery = "?hold=true";

/** The way to the agent: of all that was said only the newest is sent, the server has the rest. */
export function chatTransport<M extends UIMessage>(agent: string, send: Send): DefaultChatTransport<M> {
  return new DefaultChatTransport<M>({
    api: `${basePath}/v1/chat${holdQuery}`,
    credentials: "same-origin",
    fetch: ((input: string, init: RequestInit = {}) => fetchStream(send, input, init)) as typeof fetch,
    // Always as a new message: sent again under its id it begins no second run.
    prepareSendMessagesRequest: ({ id, messages }) => ({
      body: { id, agent, messages: messages.slice(-1), trigger: "submit-message" },
    }),
    prepareReconnectToStreamRequest: ({ id }) => ({ api: `${basePath}${path(id)}/stream${holdQuery}` }),
  });
}

/** Which of these requests are still open. */
export function useOpenRequests(ids: string[]): string[] {
  return useQueries({
    queries: ids.map((id) => requestQuery(id)),
    combine: (results) => results.map(({ data }) => data as Request | undefined)
      .filter((request) => request?.status === "pending").map((request) => request?.id ?? ""),
  });
}
