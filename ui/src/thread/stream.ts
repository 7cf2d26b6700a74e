import { skipToken, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { problemOf } from "../api/call";
import { listen } from "../api/feed";
import { isObject, type Json } from "../api/types";
import { imageAddress, threadPath } from "../api/threads";
import { basePath } from "../base/router";
import type { MessageImage } from "./message-images";

export interface StreamEvent {
  type: string;
  [key: string]: Json | undefined;
}

export interface NumberedEvent {
  number: number;
  event: StreamEvent;
}

/** The reason for a new part of the output: new input, an answer or a retry. */
type StartReason = "started" | "answered" | "retried";

/** `at` and `until` are milliseconds from the worker's clock; null if it sent none. `waits` are the requests of the pause that a call is in. */
export type Item = { key: number; at: number | null } & (
  | { kind: "run"; reason: StartReason }
  | { kind: "message"; id: string; role: string; text: string; open: boolean; images?: MessageImage[] }
  | { kind: "tool"; id: string; name: string; args: string; result: string | null; open: boolean; until: number | null; waits?: string[] }
  | { kind: "step"; name: string; open: boolean }
  | { kind: "custom"; name: string; value: Json }
  | { kind: "pause"; requests: string[] }
  | { kind: "error"; message: string }
  | { kind: "end"; cancelled: boolean; since: number | null }
);

export type Kind = Item["kind"];
export type ItemOf<K extends Kind> = Extract<Item, { kind: K }>;

export type Phase = "idle" | "running" | "interrupted" | "done" | "error";

export interface StreamState {
  last: number;
  phase: Phase;
  values: Json | undefined;
  events: NumberedEvent[];
  items: Item[];
}

export const emptyStream: StreamState = { last: 0, phase: "idle", values: undefined, events: [], items: [] };

/** Set the requests that the calls without a result wait for; nothing runs in a pause. */
function setWaits(items: Item[], waits: string[]): void {
  for (const [index, item] of items.entries()) {
    if (item.kind === "tool" && item.result === null && item.until === null) items[index] = { ...item, waits };
  }
}

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const list = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isObject) : []);

/** Return the messages of a person that have images; the stream shows them nowhere else. */
function withImages({ threadId, input }: StreamEvent, key: number): Item[] {
  return list(isObject(input) ? input.messages : undefined).flatMap(({ id, content, metadata }, index) => {
    const images = list(isObject(metadata) ? metadata.ringi_images : undefined)
      .map(({ number, name }) => ({ url: imageAddress(text(threadId), Number(number)), name: text(name) }));
    if (images.length === 0) return [];
    // Between two numbers of the stream.
    return { key: key + (index + 1) / 1000, at: null, kind: "message" as const, id: text(id), role: "user", text: text(content), open: false, images };
  });
}

const superseded = "ringi.superseded";

function object(value: Json | undefined): { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

const timestampOf = (event: StreamEvent): number | null => (typeof event.timestamp === "number" ? event.timestamp : null);

/** Change the newest matching item in place; a reused id of a later run must not change an earlier item. */
function changeLast<K extends Kind>(
  items: Item[], kind: K, fits: (item: ItemOf<K>) => boolean, change: (item: ItemOf<K>) => Partial<ItemOf<K>>,
): void {
  const is = (item: Item | undefined): item is ItemOf<K> => item?.kind === kind && fits(item as ItemOf<K>);
  const at = items.findLastIndex(is);
  const item = items[at];
  if (is(item)) items[at] = { ...item, ...change(item) };
}

function changeMessage(items: Item[], event: StreamEvent, more: string, open: boolean): void {
  changeLast(items, "message", ({ id }) => id === event.messageId, (item) => ({ text: item.text + more, open }));
}

type ToolChange = (item: ItemOf<"tool">) => Partial<ItemOf<"tool">>;

const isCall = (event: StreamEvent) => ({ id }: ItemOf<"tool">) => id === event.toolCallId;

function changeTool(items: Item[], event: StreamEvent, change: ToolChange): void {
  changeLast(items, "tool", isCall(event), change);
}

/** Change a tool call or add it; its result may arrive before its full arguments. */
function upsertTool(items: Item[], event: StreamEvent, key: number, isKnown: (item: ItemOf<"tool">) => boolean, change: ToolChange): void {
  const exists = items.some((item) => item.kind === "tool" && isCall(event)(item) && isKnown(item));
  const id = text(event.toolCallId);
  if (!exists) items.push({ key, at: timestampOf(event), kind: "tool", id, name: "", args: "", result: null, open: true, until: null });
  changeTool(items, event, change);
}

/** Close the items that were still open when their run ended. */
function closeOpenItems(items: Item[], at: number | null): void {
  const from = items.findLastIndex((item) => item.kind === "run" && item.reason === "started");
  for (let index = Math.max(0, from); index < items.length; index++) {
    const item = items[index];
    if (item?.kind === "step" && item.open) items[index] = { ...item, open: false };
    if (item?.kind === "tool" && item.result === null) items[index] = { ...item, open: false, until: item.until ?? at, waits: [] };
  }
}

function startReason(items: Item[]): StartReason {
  const before = items.findLast(({ kind }) => kind === "pause" || kind === "error" || kind === "end");
  return before?.kind === "pause" ? "answered" : before?.kind === "error" ? "retried" : "started";
}

/** Return when a run started; pauses and retries belong to it. */
function runStart(items: Item[]): number | null {
  return items.findLast((item) => item.kind === "run" && item.reason === "started")?.at ?? null;
}

/** Return the requests that are new. A run that pauses again repeats those that are still open. */
function newRequests(items: Item[], ids: string[]): string[] {
  const knownRequests = new Set(items.flatMap((item) => (item.kind === "pause" ? item.requests : [])));
  return ids.filter((id) => !knownRequests.has(id));
}

function pauseItem(items: Item[], key: number, at: number | null, interrupts: Json | undefined): Item {
  const ids = Array.isArray(interrupts) ? interrupts.map((one) => text(object(one).id)) : [];
  setWaits(items, ids);
  return { key, at, kind: "pause", requests: newRequests(items, ids) };
}

function finishItem(items: Item[], key: number, event: StreamEvent): Item {
  const outcome = object(event.outcome);
  const at = timestampOf(event);
  if (outcome.type === "interrupt") return pauseItem(items, key, at, outcome.interrupts);
  closeOpenItems(items, at);
  return { key, at, kind: "end", cancelled: outcome.type === "cancelled", since: runStart(items) };
}

/** Apply a custom event; a superseded message, such as the output of a worker that died, is removed. */
function applyCustomEvent(items: Item[], event: StreamEvent, key: number, at: number | null): void {
  if (event.name !== superseded) {
    items.push({ key, at, kind: "custom", name: text(event.name), value: event.value ?? null });
    return;
  }
  const id = text(object(event.value).messageId);
  const index = items.findLastIndex((item) => item.kind === "message" && item.id === id);
  if (index >= 0) items.splice(index, 1);
}

type EventHandler = (items: Item[], event: StreamEvent, key: number, at: number | null) => void;

const handlers = new Map<string, EventHandler>(Object.entries({
  RUN_STARTED: (items, event, key, at) => {
    setWaits(items, []);
    items.push({ key, at, kind: "run", reason: startReason(items) }, ...withImages(event, key));
  },
  RUN_FINISHED: (items, event, key) => items.push(finishItem(items, key, event)),
  RUN_ERROR: (items, event, key, at) => {
    closeOpenItems(items, at);
    items.push({ key, at, kind: "error", message: text(event.message) });
  },
  TEXT_MESSAGE_START: (items, event, key, at) => items.push({
    key, at, kind: "message", id: text(event.messageId), role: text(event.role) || "assistant", text: "", open: true,
  }),
  TEXT_MESSAGE_CONTENT: (items, event) => changeMessage(items, event, text(event.delta), true),
  TEXT_MESSAGE_END: (items, event) => changeMessage(items, event, "", false),
  TOOL_CALL_START: (items, event, key) =>
    upsertTool(items, event, key, ({ name }) => name === "", () => ({ name: text(event.toolCallName) })),
  TOOL_CALL_ARGS: (items, event) => changeTool(items, event, ({ args }) => ({ args: args + text(event.delta) })),
  TOOL_CALL_END: (items, event) => changeTool(items, event, () => ({ open: false })),
  TOOL_CALL_RESULT: (items, event, key, at) =>
    upsertTool(items, event, key, () => true, () => ({ result: text(event.content), open: false, until: at })),
  STEP_STARTED: (items, event, key, at) => items.push({ key, at, kind: "step", name: text(event.stepName), open: true }),
  STEP_FINISHED: (items, event) =>
    changeLast(items, "step", ({ name, open }) => open && name === event.stepName, () => ({ open: false })),
  CUSTOM: applyCustomEvent,
} satisfies { [type: string]: EventHandler }));

function phaseAfter(phase: Phase, { type, outcome }: StreamEvent): Phase {
  if (type === "RUN_STARTED") return "running";
  if (type === "RUN_ERROR") return "error";
  if (type !== "RUN_FINISHED") return phase;
  const how = object(outcome).type;
  return how === "interrupt" ? "interrupted" : how === "cancelled" ? "idle" : "done";
}

/** Apply a batch of events; an event whose number was seen before changes nothing. */
export function reduce(state: StreamState, batch: readonly NumberedEvent[]): StreamState {
  const newEvents: NumberedEvent[] = [];
  let { last, phase, values } = state;
  // One copy for a whole batch: a copy for each event makes a long thread's history quadratic.
  const items = [...state.items];
  for (const one of batch) {
    const { number, event } = one;
    if (!(number > last)) continue;
    last = number;
    handlers.get(event.type)?.(items, event, number, timestampOf(event));
    phase = phaseAfter(phase, event);
    if (event.type === "STATE_SNAPSHOT") values = event.snapshot;
    newEvents.push(one);
  }
  return newEvents.length === 0 ? state : { last, phase, values, items, events: [...state.events, ...newEvents] };
}

/** Read the stored events of a thread after a number, as one reply that ends: a proxy that holds back streams passes it on. */
async function readStored(id: string, after: number): Promise<NumberedEvent[]> {
  const reply = await fetch(`${basePath}${threadPath(id)}/stream?after=${after}&follow=false`, { credentials: "same-origin" });
  if (!reply.ok) throw await problemOf(reply);
  return (await reply.text()).split("\n\n").flatMap((block) => {
    const [, number] = /^id: (\d+)$/m.exec(block) ?? [];
    const [, data] = /^data: (.*)$/m.exec(block) ?? [];
    // Named events repeat what others say in another form.
    return number === undefined || data === undefined || /^event: /m.test(block) ? [] : [{ number: Number(number), event: JSON.parse(data) as StreamEvent }];
  });
}

function applyBatch(client: QueryClient, id: string, batch: NumberedEvent[]): void {
  client.setQueryData<StreamState>(["stream", id], (state) => reduce(state ?? emptyStream, batch));
  if (batch.some(({ event }) => event.type.startsWith("RUN_"))) {
    void client.invalidateQueries({ queryKey: ["thread", id] });
  }
}

export type Interruption = "held" | "lost" | null;

interface ThreadStream {
  stream: StreamState;
  /** "lost" while the connection is retried, "held" while the stream is silent and is read every few seconds. */
  interruption: Interruption;
}

/** Follow a thread's stream while `shouldFollow` returns true; events already received are kept. */
export function useStream(id: string, shouldFollow: (stream: StreamState) => boolean = () => true): ThreadStream {
  const client = useQueryClient();
  const [interruption, setInterruption] = useState<Interruption>(null);
  const stream = useQuery<StreamState>({
    queryKey: ["stream", id],
    queryFn: skipToken,
    // Without structural sharing: comparing thousands of old events at each new one is slow.
    structuralSharing: false,
  }).data ?? emptyStream;
  const enabled = shouldFollow(stream);
  useEffect(() => {
    if (!enabled) return undefined;
    let batch: NumberedEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      applyBatch(client, id, batch);
      batch = [];
    };
    const last = () => client.getQueryData<StreamState>(["stream", id])?.last ?? 0;
    const stop = listen({
      url: () => `${threadPath(id)}/stream?after=${last()}`,
      names: ["message"],
      onOpen: (isHeldBack) => {
        setInterruption(isHeldBack ? "held" : null);
        void client.invalidateQueries({ queryKey: ["thread", id] });
      },
      onEvent: (message) => {
        batch.push({ number: Number(message.lastEventId), event: JSON.parse(message.data) as StreamEvent });
        timer ??= setTimeout(flush, 16);
      },
      onHeldBack: () => {
        setInterruption("held");
        void client.invalidateQueries({ queryKey: ["thread", id] });
        readStored(id, last()).then((found) => applyBatch(client, id, found), () => setInterruption("lost"));
      },
      onPassing: () => setInterruption(null),
      onLost: () => setInterruption("lost"),
    });
    return () => {
      stop();
      clearTimeout(timer);
      if (batch.length > 0) flush();
    };
  }, [client, id, enabled]);
  return { stream, interruption };
}
