import { QueryClientProvider, type QueryClient } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import { ConfigProvider } from "antd";
import type { ReactNode } from "react";
import { vi } from "vitest";
import type { Json, Request } from "../api/types";
import { createClient } from "../api/client";
import { applications } from "../apps";
import { ApplicationsContext } from "../request/applications";
import { MessagesProvider } from "../widgets/messages";
import { known, type Known } from "./known";

export interface RecordedWrite {
  method: string;
  path: string;
  body: Json;
}

export type Reply = [status: number, body: unknown] | Promise<[status: number, body: unknown]>;

/** A tool that nobody has decided about yet. */
export const noPrecedent = { since: "2026-01-01T00:00:00Z", counts: {}, amounts: [], last: null, is_partial: false };

/** What the page reads by itself: there are no deliveries, pauses, absences and precedents. */
const readsByItself: [prefix: string, body: unknown][] = [
  ["/v1/deliveries", { items: [], next: null }], ["/v1/pauses", { items: [], next: null }], ["/v1/away", { absence: null, deputy_for: [] }],
  ["/precedent", noPrecedent],
];

/** Answer the page's requests; return the list of its writes. */
export function serve(answer: (path: string, sent: RecordedWrite) => Reply): RecordedWrite[] {
  const sent: RecordedWrite[] = [];
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    const call = { method: init.method ?? "GET", path, body: JSON.parse(String(init.body ?? "null")) as Json };
    if (call.method !== "GET") sent.push(call);
    const unasked = call.method === "GET" ? readsByItself.find(([part]) => path.startsWith(part) || path.endsWith(part)) : undefined;
    const [status, body] = unasked ? [200, unasked[1]] as const : await answer(path, call);
    return new Response(status === 204 ? null : JSON.stringify(body), { status });
  });
  return sent;
}

export function show(page: ReactNode, client: QueryClient = createClient()): QueryClient {
  render(
    <QueryClientProvider client={client}>
      <ApplicationsContext value={applications}>
        <ConfigProvider theme={{ token: { motion: false } }}><MessagesProvider>{page}</MessagesProvider></ConfigProvider>
      </ApplicationsContext>
    </QueryClientProvider>,
  );
  return client;
}

export function aRequest(changes: Known<Request>): Request {
  return known<Request>({
    tenant: "default", id: "r1", version: 1, kind: "approval", title: "Refund order 1182?", description: null,
    action: null, form: null, schema: null, answer_schema: null, allowed: ["approve", "edit", "reject"], actions: {}, context: {},
    thread_id: null, run_id: null, status: "pending", response: null, assignee: null, groups: [],
    claimed_by: null, claimed_until: null, priority: null, created_at: "2026-01-02T10:00:00Z", due_at: null, expires_at: null,
    fallback: null, reason: null, attention: null, acknowledged_at: null, ended_at: null, asked_by: null, erased: null,
    display: null, digest: "sha256:abc", ...changes,
  });
}

export function completedRequest(request: Request, responder = "ann"): Request {
  const at = new Date().toISOString();
  return known<Request>({
    ...request, version: request.version + 1, status: "completed", ended_at: at,
    response: { decision: "approve", responder, channel: "page", at },
  });
}

/** A fake EventSource that a test controls. */
export class FakeEventSource extends EventTarget {
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static all: FakeEventSource[] = [];
  readyState = 1;

  constructor(readonly url: string) {
    super();
    FakeEventSource.all.push(this);
  }

  static get last(): FakeEventSource {
    const source = FakeEventSource.all.at(-1);
    if (!source) throw new Error("nothing listens");
    return source;
  }

  send(name: string, data: unknown, lastEventId: string): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data), lastEventId }));
  }

  /** Take in what a server sends; as in a browser, an event without data reaches no listener. */
  receive(text: string): void {
    for (const block of text.split("\n\n")) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(": ", 2)));
      if (fields.data !== undefined) this.send(fields.event ?? "message", JSON.parse(fields.data), fields.id ?? "");
    }
  }

  refuse(): void {
    this.readyState = FakeEventSource.CLOSED;
    this.dispatchEvent(new Event("error"));
  }

  close(): void {
    this.readyState = FakeEventSource.CLOSED;
  }
}
