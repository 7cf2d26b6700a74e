import { Alert } from "antd";
import type { Thread } from "../api/types";
import { FailureReason } from "./failure-reason";
import { useStrings } from "../strings";
import { useNow } from "../widgets/time";
import { AgentText } from "../widgets/agent-text";
import { visible } from "../base/visible";
import { isStuck, RunControls } from "./run-controls";
import type { Item } from "./stream";
import type { Interruption } from "./use-stream";
import { useDuration } from "../widgets/time-format";
import { UsageLines } from "./usage-lines";

function activityText(items: Item[], strings: ReturnType<typeof useStrings>): string {
  const last = items.at(-1);
  if (last?.kind === "tool" && last.result === null) return strings.agentWaitsForTool(visible(last.name));
  if (last?.kind === "message" && last.open) return strings.agentWriting;
  if (last?.kind === "step" && last.open) return strings.agentWorksOnStep(visible(last.name));
  return strings.agentWorking;
}

function Elapsed({ since }: { since: number }) {
  const now = useNow();
  const duration = useDuration();
  return <span className="countdown">{duration(Math.max(0, Math.floor((now - since) / 1_000)) * 1_000)}</span>;
}

/** The current activity and its duration. */
export function ActivityIndicator({ items }: { items: Item[] }) {
  const strings = useStrings();
  const since = items.findLast(({ kind }) => kind === "run")?.at ?? null;
  return (
    <div className="activity quiet" data-testid="activity">
      <span className="activity-dot" aria-hidden="true" />
      <span>{activityText(items, strings)}</span>
      {since !== null && <Elapsed since={since} />}
    </div>
  );
}

export function StuckAlert({ thread, isErrorShown }: { thread: Thread; isErrorShown: boolean }) {
  const strings = useStrings();
  if (thread.status === "error") {
    return isErrorShown ? <p className="quiet">{strings.errorHint}</p> : (
      <Alert type="error" showIcon title={strings.runFailed} description={<FailureReason why={thread.error ?? ""} />} data-testid="error" />
    );
  }
  return (
    <Alert
      type="warning" showIcon title={strings.runStuck} data-testid="stranded"
      description={<FailureReason why={thread.attention ?? ""} />}
    />
  );
}

interface ThreadFooterProps {
  thread: Thread;
  items: Item[];
  interruption: Interruption;
}

/** The status below the newest item, with the possible actions. */
export function ThreadFooter({ thread, items, interruption }: ThreadFooterProps) {
  const strings = useStrings();
  const { status } = thread;
  const last = items.findLast(({ kind }) => kind === "error" || kind === "run")?.kind;
  return (
    <div className="thread-footer">
      {interruption === "lost" && <Alert type="warning" showIcon title={strings.streamLost} data-testid="stream-lost" />}
      {interruption === "held" && <Alert type="warning" showIcon title={strings.heldBack} description={strings.heldBackWhy} data-testid="stream-held" />}
      {status === "running" && interruption !== "lost" && <ActivityIndicator items={items} />}
      {isStuck(thread) && <StuckAlert thread={thread} isErrorShown={last === "error"} />}
      {status === "interrupted" && !thread.attention && (
        <p className="quiet" data-testid="waiting">{thread.pending.length === 0 ? strings.runWaitsForOthers : strings.runWaitsForYou}</p>
      )}
      {status === "idle" && thread.error && <p className="quiet" data-testid="given-up">{strings.runAbandoned}</p>}
      {status === "idle" && thread.reason && (
        <p className="quiet" data-testid="stop-reason">{strings.stopReason}: <AgentText text={thread.reason} /></p>
      )}
      <UsageLines usage={thread.usage} />
      <RunControls thread={thread} />
    </div>
  );
}
