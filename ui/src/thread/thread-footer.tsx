import { Alert } from "antd";
import type { ModelCalls, Thread } from "../api/types";
import { visible } from "../base/visible";
import { useStrings } from "../strings";
import { AgentText } from "../widgets/agent-text";
import { useDuration } from "../widgets/time-format";
import type { Item, Interruption } from "./stream";
import { isStuck, RunControls } from "./run-controls";
import { ActivityIndicator } from "./activity-indicator";
import { StuckAlert } from "./stuck-alert";

/** Return the use of one model as short parts: calls, tokens, time and cost. */
function useParts(): (usage: ModelCalls) => string[] {
  const { language, usage: strings } = useStrings();
  const duration = useDuration();
  const number = (value: number, options?: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options).format(value);
  const tokens = ({ input_tokens: read, cached_tokens: cached, output_tokens: written, calls, unreported_calls }: ModelCalls) => {
    if (read === null || written === null) return [strings.unreported];
    const share = cached ? number(cached / read, { style: "percent" }) : null;
    return [
      share === null ? strings.read(number(read)) : strings.readCached(number(read), share),
      strings.written(number(written)),
      ...(unreported_calls > 0 && calls > 1 ? [strings.unreportedCalls(number(unreported_calls), unreported_calls === 1)] : []),
    ];
  };
  const price = (cost: number, currency: string) => {
    const money = { style: "currency", currency } as const;
    // A yen has no cents, and a dinar has 1,000 fils.
    const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat(language, money).resolvedOptions();
    return number(cost, { ...money, ...(cost > 0 && cost < 10 ** -digits && { maximumSignificantDigits: 2 }) });
  };
  return (usage) => [
    strings.calls(number(usage.calls), usage.calls === 1),
    ...tokens(usage),
    duration(usage.seconds * 1_000),
    ...(usage.cost !== null && usage.currency !== null ? [price(usage.cost, usage.currency)] : []),
  ];
}

/** The newest run's use of models, one quiet line for each model. */
export function UsageLines({ usage }: { usage: ModelCalls[] }) {
  const parts = useParts();
  if (usage.length === 0) return null;
  return (
    <ul className="usage quiet" data-testid="usage">
      {usage.map((each) => <li key={each.model}>{[visible(each.model), ...parts(each)].join(" · ")}</li>)}
    </ul>
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
