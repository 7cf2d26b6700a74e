import type { thread as en } from "../en/thread";
import type { ThreadStatus } from "../../api/types";

const threadStatuses: Record<ThreadStatus, string> = {
  idle: "idle", running: "running", interrupted: "waits for a person", done: "done", error: "error",
};

export const thread: typeof en = {
  threadStatuses,

  startAgent: "Start an agent",
  agent: "Agent",
  threadName: "Name of the thread",
  start: "Start",
  starting: "Starting…",
  noAgents: "No agents are registered. Start the server with `ringi demo`, or with `--agents MODULE`.",
  emptyThreads: "No threads yet.",
  streamStarts: "The agent's messages appear here as they come.",
  tool: "Tool",
  step: "Step",
  result: "result",
  runStarted: "run started",
  runEnded: "run finished",
  runCancelled: "run cancelled",
  runFailed: "The run failed",
  values: "Values",
  rawEvents: (count: number) => `Raw events (${count})`,
};
