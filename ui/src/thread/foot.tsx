import { Alert } from "antd";
import type { Thread } from "../api/types";
import { Why } from "../operations/why";
import { useStrings } from "../strings";
import { useNow } from "../widgets/time";
import { AgentText } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { isStuck, Steer } from "./steer";
import type { Item } from "./stream";
import { useDuration } from "./when";

function doing(items: Item[], strings: ReturnType<typeof useStrings>): string {
  const last = items.at(-1);
  if (last?.kind === "tool" && last.result === null) return strings.doingTool(visible(last.name));
  if (last?.kind === "message" && last.open) return strings.doingMessage;
  if (last?.kind === "step" && last.open) return strings.doingStep(visible(last.name));
  return strings.doing;
}

function Elapsed({ since }: { since: number }) {
  const now = useNow();
  const duration = useDuration();
  return <span className="countdown">{duration(Math.max(0, Math.floor((now - since) / 1_000)) * 1_000)}</span>;
}

/** That something is being done, what, and for how long; it moves only for who wants movement. */
export function Working({ items }: { items: Item[] }) {
  const strings = useStrings();
  const since = items.findLast(({ kind }) => kind === "run")?.at ?? null;
  return (
    <div className="working quiet" data-testid="working">
      <span className="working-dot" aria-hidden="true" />
      <span>{doing(items, strings)}</span>
      {since !== null && <Elapsed since={since} />}
    </div>
  );
}

export function Stuck({ thread, toldError }: { thread: Thread; toldError: boolean }) {
  const strings = useStrings();
  if (thread.status === "error") {
    return toldError ? <p className="quiet">{strings.errorHint}</p> : (
      <Alert type="error" showIcon title={strings.runFailed} description={<Why why={thread.error ?? ""} />} data-testid="error" />
    );
  }
  return (
    <Alert
      type="warning" showIcon title={strings.stranded} data-testid="stranded"
      description={<Why why={thread.attention ?? ""} />}
    />
  );
}

interface FootProps {
  thread: Thread;
  items: Item[];
  lost: boolean;
}

/** Where the thread stands now, below the newest that it said, and what can be done about it. */
export function Foot({ thread, items, lost }: FootProps) {
  const strings = useStrings();
  const { status } = thread;
  const last = items.findLast(({ kind }) => kind === "error" || kind === "run")?.kind;
  return (
    <div className="thread-foot">
      {lost && <Alert type="warning" showIcon title={strings.streamLost} data-testid="stream-lost" />}
      {status === "running" && !lost && <Working items={items} />}
      {isStuck(thread) && <Stuck thread={thread} toldError={last === "error"} />}
      {status === "interrupted" && !thread.attention && (
        <p className="quiet" data-testid="waiting">{thread.pending.length === 0 ? strings.waitsElsewhere : strings.waitsHere}</p>
      )}
      {status === "idle" && thread.error && <p className="quiet" data-testid="given-up">{strings.givenUp}</p>}
      {status === "idle" && thread.reason && (
        <p className="quiet" data-testid="stop-reason">{strings.stopReason}: <AgentText text={thread.reason} /></p>
      )}
      <Steer thread={thread} />
    </div>
  );
}
