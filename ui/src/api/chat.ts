import { useQueries } from "@tanstack/react-query";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { basePath } from "../base/router";
import { call, isStatus, problemOf, ProblemError } from "./call";
import { requestQuery } from "./requests";
import type { Chat } from "./schema";
import { threadPath } from "./threads";
import type { Agent, Request, Thread } from "./types";

const path = (id: string) => `/v1/chat/${encodeURIComponent(id)}`;

/** Return whether an agent accepts messages. */
export function takesMessages({ input_schema }: Agent): boolean {
  const { properties } = input_schema;
  return typeof properties === "object" && properties !== null && "messages" in properties;
}

const ignoreNotFound = (error: unknown) => {
  if (isStatus(error, 404)) return undefined;
  throw error;
};

/** Build a message from its parts with the same reader that reads streams. */
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
  /** The cursor of the earlier messages; null at the beginning of the chat. */
  earlierCursor: string | null;
}

async function toMessagePage<M extends UIMessage>({ runs, next }: Chat): Promise<MessagePage<M>> {
  const pages = runs.map(async ({ messages, parts }) =>
    [...messages as unknown as M[], ...await messageOf<M>(parts as unknown as UIMessageChunk[])]);
  return { messages: (await Promise.all(pages)).flat(), earlierCursor: next };
}

/** Read the newest messages and the thread; empty if the thread does not exist (yet). */
export async function readChat<M extends UIMessage>(id: string): Promise<MessagePage<M> & { thread: Thread | undefined }> {
  const thread = await call<Thread>("GET", threadPath(id)).catch(ignoreNotFound);
  return thread ? { ...await toMessagePage<M>(await call<Chat>("GET", path(id))), thread } : { messages: [], earlierCursor: null, thread };
}

/** Read the page of messages before a cursor. */
export async function readEarlier<M extends UIMessage>(id: string, before: string): Promise<MessagePage<M>> {
  return toMessagePage<M>(await call<Chat>("GET", `${path(id)}?cursor=${encodeURIComponent(before)}`));
}

/** Sends a request that contains images. */
export type Send = (url: string, init: RequestInit) => Promise<globalThis.Response>;

/** In a text the quotation marks would be escaped. */
const hasImages = ({ body }: RequestInit) => typeof body === "string" && body.includes('"type":"file"');

const ends = new Set<() => void>();

/** End all streams as if their answers were complete, because something holds them back. */
export function endStreams(): void {
  for (const end of ends) end();
}

/** Return a reply whose stream can be ended without an error. */
function endable(reply: globalThis.Response): globalThis.Response {
  if (!reply.body) return reply;
  const reader = reply.body.getReader();
  let end = () => {};
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      end = () => {
        ends.delete(end);
        controller.close();
        void reader.cancel();
      };
      ends.add(end);
    },
    pull: async (controller) => {
      const { done, value } = await reader.read().catch((error: unknown) => {
        ends.delete(end);
        throw error;
      });
      if (!ends.has(end)) return;
      if (done) end();
      else controller.enqueue(value);
    },
    cancel: (reason) => {
      ends.delete(end);
      return reader.cancel(reason);
    },
  });
  return new Response(body, reply);
}

async function fetchStream(send: Send, input: string, init: RequestInit): Promise<globalThis.Response> {
  const reply = await (hasImages(init) ? send : fetch)(input, init).catch((error: unknown) => {
    if (init.signal?.aborted || hasImages(init)) throw error;
    throw new ProblemError(0, { detail: error instanceof Error ? error.message : String(error) });
  });
  if (!reply.ok) throw await problemOf(reply);
  return endable(reply);
}

/** Requests are answered outside the stream, so the stream stays open while they wait. */
const holdQuery = "?hold=true";

/** Create the transport to an agent. Only the newest message is sent; the server has the others. */
export function chatTransport<M extends UIMessage>(agent: string, send: Send): DefaultChatTransport<M> {
  return new DefaultChatTransport<M>({
    api: `${basePath}/v1/chat${holdQuery}`,
    credentials: "same-origin",
    fetch: ((input: string, init: RequestInit = {}) => fetchStream(send, input, init)) as typeof fetch,
    // Always sent as a new message: the same id never starts a second run.
    prepareSendMessagesRequest: ({ id, messages }) => ({
      body: { id, agent, messages: messages.slice(-1), trigger: "submit-message" },
    }),
    prepareReconnectToStreamRequest: ({ id }) => ({ api: `${basePath}${path(id)}/stream${holdQuery}` }),
  });
}

/** Return the requests that are still open. */
export function useOpenRequests(ids: string[]): string[] {
  return useQueries({
    queries: ids.map((id) => requestQuery(id)),
    combine: (results) => results.map(({ data }) => data as Request | undefined)
      .filter((request) => request?.status === "pending").map((request) => request?.id ?? ""),
  });
}
