import type { Json } from "../api/types";

export interface StreamEvent {
  type: string;
  [key: string]: Json | undefined;
}

export interface Numbered {
  number: number;
  event: StreamEvent;
}

export type Item = { key: number } & (
  | { kind: "run" }
  | { kind: "message"; id: string; role: string; text: string; open: boolean }
  | { kind: "tool"; id: string; name: string; args: string; result: string | null; open: boolean }
  | { kind: "step"; name: string; open: boolean }
  | { kind: "pause"; requests: string[] }
  | { kind: "error"; message: string }
  | { kind: "end"; cancelled: boolean }
);

export type Phase = "idle" | "running" | "interrupted" | "done" | "error";

export interface StreamState {
  last: number;
  phase: Phase;
  events: Numbered[];
  items: Item[];
}

export const emptyStream: StreamState = { last: 0, phase: "idle", events: [], items: [] };

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");

function object(value: Json | undefined): { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** Change the newest item that fits; a re-used id in a later run must not reach back into an earlier one. */
function changeLast(items: Item[], fits: (item: Item) => boolean, change: (item: Item) => Item): Item[] {
  const at = items.findLastIndex(fits);
  return at < 0 ? items : items.map((item, index) => (index === at ? change(item) : item));
}

function changeMessage(items: Item[], event: StreamEvent, more: string, open: boolean): Item[] {
  return changeLast(
    items,
    (item) => item.kind === "message" && item.id === event.messageId,
    (item) => (item.kind === "message" ? { ...item, text: item.text + more, open } : item),
  );
}

function changeTool(items: Item[], event: StreamEvent, change: Partial<Item & { kind: "tool" }>): Item[] {
  return changeLast(
    items,
    (item) => item.kind === "tool" && item.id === event.toolCallId,
    (item) => (item.kind === "tool" ? { ...item, ...change, args: item.args + (change.args ?? "") } : item),
  );
}

function closeStep(items: Item[], name: string): Item[] {
  return changeLast(
    items,
    (item) => item.kind === "step" && item.name === name && item.open,
    (item) => (item.kind === "step" ? { ...item, open: false } : item),
  );
}

function ended(key: number, event: StreamEvent): [Item, Phase] {
  const outcome = object(event.outcome);
  if (outcome.type !== "interrupt") {
    const cancelled = outcome.type === "cancelled";
    return [{ key, kind: "end", cancelled }, cancelled ? "idle" : "done"];
  }
  const interrupts = Array.isArray(outcome.interrupts) ? outcome.interrupts : [];
  return [{ key, kind: "pause", requests: interrupts.map((one) => text(object(one).id)) }, "interrupted"];
}

/** A run that goes on with one of two answers pauses again on the other: it stands where it was asked first. */
function withoutAsked(items: Item[], end: Item): Item {
  if (end.kind !== "pause") return end;
  const asked = new Set(items.flatMap((item) => (item.kind === "pause" ? item.requests : [])));
  return { ...end, requests: end.requests.filter((id) => !asked.has(id)) };
}

function shown(items: Item[], number: number, event: StreamEvent): Item[] {
  const key = number;
  switch (event.type) {
    case "RUN_STARTED":
      return [...items, { key, kind: "run" }];
    case "TEXT_MESSAGE_START":
      return [...items, {
        key, kind: "message", id: text(event.messageId), role: text(event.role) || "assistant", text: "", open: true,
      }];
    case "TEXT_MESSAGE_CONTENT":
      return changeMessage(items, event, text(event.delta), true);
    case "TEXT_MESSAGE_END":
      return changeMessage(items, event, "", false);
    case "TOOL_CALL_START":
      return [...items, {
        key, kind: "tool", id: text(event.toolCallId), name: text(event.toolCallName), args: "", result: null, open: true,
      }];
    case "TOOL_CALL_ARGS":
      return changeTool(items, event, { args: text(event.delta) });
    case "TOOL_CALL_END":
      return changeTool(items, event, { open: false });
    case "TOOL_CALL_RESULT":
      return changeTool(items, event, { result: text(event.content), open: false });
    case "STEP_STARTED":
      return [...items, { key, kind: "step", name: text(event.stepName), open: true }];
    case "STEP_FINISHED":
      return closeStep(items, text(event.stepName));
    case "RUN_FINISHED":
      return [...items, withoutAsked(items, ended(key, event)[0])];
    case "RUN_ERROR":
      return [...items, { key, kind: "error", message: text(event.message) }];
    default:
      return items;
  }
}

function phaseAfter(phase: Phase, { number, event }: Numbered): Phase {
  if (event.type === "RUN_STARTED") return "running";
  if (event.type === "RUN_ERROR") return "error";
  return event.type === "RUN_FINISHED" ? ended(number, event)[1] : phase;
}

/** Return the state after a batch; an event whose number was seen before changes nothing. */
export function reduce(state: StreamState, batch: readonly Numbered[]): StreamState {
  const fresh: Numbered[] = [];
  let { last, phase, items } = state;
  for (const one of batch) {
    if (!(one.number > last)) continue;
    last = one.number;
    items = shown(items, one.number, one.event);
    phase = phaseAfter(phase, one);
    fresh.push(one);
  }
  return fresh.length === 0 ? state : { last, phase, items, events: [...state.events, ...fresh] };
}
