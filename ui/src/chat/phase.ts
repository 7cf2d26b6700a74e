import type { Thread } from "../api/types";

/** "waiting" means waiting for an answer; "working" means any other unfinished run. */
export type Phase = "loading" | "ready" | "working" | "waiting";

/** The phase that a conversation shows, from what is read, what streams, its thread and its open requests. */
export function phaseOf(isRead: boolean, busy: boolean, thread: Thread | undefined, open: string[]): Phase {
  if (!isRead) return "loading";
  if (open.length > 0 || thread?.status === "interrupted") return "waiting";
  return busy || thread?.status === "running" ? "working" : "ready";
}
