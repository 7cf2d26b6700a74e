import { visible } from "../base/visible";
import { useStrings } from "../strings";
import { useDuration } from "../widgets/time-format";
import { useNow } from "../widgets/time";
import type { Item } from "./stream";

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
