import type { Json } from "../api/types";
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
export type StartReason = "started" | "answered" | "retried";

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
export function setWaits(items: Item[], waits: string[]): void {
  for (const [index, item] of items.entries()) {
    if (item.kind === "tool" && item.result === null && item.until === null) items[index] = { ...item, waits };
  }
}
