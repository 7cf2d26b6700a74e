import type { UIMessageChunk } from "ai";
import { vi } from "vitest";
import type { Json, Request } from "../api/types";
import type { ChatMessage } from "../chat/message-parts";
import { noPrecedent } from "./fake-server";

type Reader = ReadableStreamDefaultController<Uint8Array>;

const line = (chunk: UIMessageChunk) => new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`);

/** A fake server for one conversation that a test controls; it keeps the messages and sends them again. */
export class FakeChat {
  status = "idle";
  run = 0;
  readonly history: { id: string; messages: ChatMessage[]; parts: UIMessageChunk[] }[] = [];
  readonly requests = new Map<string, Request>();
  /** The requests of the page, in order. */
  readonly sent: { path: string; body: Json }[] = [];
  /** The refusal of the next request. */
  refusal: [status: number, body: Json] | undefined;
  isOffline = false;
  /** Number of runs on a page of the history. */
  size = 50;
  /** Returns the reply to other routes. */
  extraReply: (route: string, body: Json) => [status: number, body: unknown] | undefined = () => undefined;
  private readers = new Set<Reader>();

  constructor(readonly agents = ["chat"]) {
    vi.stubGlobal("fetch", (path: string, init: RequestInit = {}) => this.answer(path, init));
  }

  /** The number of open streams. */
  get listeners(): number {
    return this.readers.size;
  }

  private get currentParts(): UIMessageChunk[] {
    return this.history.at(-1)?.parts ?? [];
  }

  say(...chunks: UIMessageChunk[]): void {
    this.currentParts.push(...chunks);
    for (const reader of this.readers) for (const chunk of chunks) reader.enqueue(line(chunk));
  }

  /** Start to answer. */
  begin(...messages: ChatMessage[]): void {
    this.run += 1;
    this.status = "running";
    const id = `run-${this.run}`;
    this.history.push({ id, messages, parts: [{ type: "start", messageId: id }] });
  }

  end(status = "done"): void {
    this.status = status;
    for (const reader of this.readers) reader.enqueue(line({ type: "finish" }));
    for (const reader of this.readers) reader.close();
    this.readers.clear();
  }

  /** Break the connection, as if the server was killed. */
  cut(): void {
    for (const reader of this.readers) reader.error(new TypeError("network error"));
    this.readers.clear();
  }

  private stream(signal: AbortSignal | null | undefined): Response {
    let mine: Reader | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (reader) => {
        mine = reader;
        this.readers.add(reader);
        for (const chunk of this.currentParts) reader.enqueue(line(chunk));
      },
      cancel: () => void (mine && this.readers.delete(mine)),
    });
    signal?.addEventListener("abort", () => {
      if (mine && this.readers.delete(mine)) mine.error(signal.reason);
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  private async answer(path: string, { method = "GET", body, signal }: RequestInit): Promise<Response> {
    if (this.isOffline) throw new TypeError("fetch failed");
    if (method !== "GET") {
      this.sent.push({ path, body: JSON.parse(String(body ?? "null")) as Json });
      const refused = this.refusal;
      this.refusal = undefined;
      if (refused) return Response.json(refused[1], { status: refused[0] });
    }
    const route = `${method} ${path.split("?")[0]}`;
    if (route === "POST /v1/chat") return this.write(JSON.parse(String(body)) as { messages: ChatMessage[] }, signal);
    if (/^GET \/v1\/chat\/.*\/stream$/.test(route)) {
      return ["running", "interrupted"].includes(this.status) ? this.stream(signal) : new Response(null, { status: 204 });
    }
    const [status, reply] = this.extraReply(route, JSON.parse(String(body ?? "null")) as Json) ?? this.record(route, new URLSearchParams(path.split("?")[1]).get("cursor"));
    return Response.json(reply, { status });
  }

  private write({ messages }: { messages: ChatMessage[] }, signal: AbortSignal | null | undefined): Response {
    this.begin(...messages);
    return this.stream(signal);
  }

  private page(cursor: string | null) {
    const end = cursor === null ? this.history.length : Number(cursor);
    const begin = Math.max(0, end - this.size);
    return { id: "t1", agent: this.agents[0], runs: this.history.slice(begin, end), next: begin > 0 ? String(begin) : null };
  }

  private record(route: string, cursor: string | null): [number, unknown] {
    const page = (items: unknown[]) => [200, { items, next: null }] as [number, unknown];
    if (route === "GET /v1/session") return [200, { name: "ann", role: "person", tenant: "default", groups: [] }];
    if (route === "GET /v1/agents") return page(this.agents.map((name) => ({ name, title: "", description: "", input_schema: { properties: { messages: {} } } })));
    if (route === "GET /v1/threads") return page([]);
    if (route === "GET /v1/away") return [200, { absence: null, deputy_for: [] }];
    if (route.startsWith("GET /v1/assistants/")) return [404, {}];
    if (route.endsWith("/precedent")) return [200, noPrecedent];
    if (route === "GET /v1/requests") return page([...this.requests.values()].filter(({ status: one }) => one === "pending"));
    if (route.startsWith("GET /v1/threads/")) return this.run === 0 ? [404, {}] : [200, this.thread()];
    if (route.endsWith("/cancel")) {
      this.end("idle");
      return [200, this.thread()];
    }
    if (route.startsWith("GET /v1/chat/")) return [200, this.page(cursor)];
    const request = this.requests.get(decodeURIComponent(/\/v1\/requests\/([^/]+)/.exec(route)?.[1] ?? ""));
    return request ? [200, request] : page([]);
  }

  private thread() {
    const pending = [...this.requests.values()].filter(({ status, thread_id }) => status === "pending" && !thread_id?.includes("~"));
    return {
      id: "t1", agent: this.agents[0], status: this.status, run_id: `run-${this.run}`, values: {}, error: null, attention: null,
      reason: null, started_by: "ann", created_at: "2026-01-02T10:00:00Z", updated_at: "2026-01-02T10:00:00Z", erased: null, pending,
    };
  }
}
