import { Button, Flex } from "antd";
import { useRef, useState } from "react";
import { useSession } from "../api/session";
import { useRunAction } from "../api/threads";
import type { Thread } from "../api/types";
import { KeyLabel, useKeys, type Shortcut } from "../base/keys";
import { visible } from "../base/visible";
import { useStrings } from "../strings";
import { actorName } from "../widgets/names";
import { Problem } from "../widgets/problem";
import { ConfirmStop } from "../pauses/confirm-stop";

const isLive = ({ status }: Thread) => status === "running" || status === "interrupted";

/** Return whether the run cannot continue by itself. */
export const isStuck = ({ status, attention }: Thread) => status === "error" || (status === "interrupted" && attention !== null);

interface AllowedActions {
  retry: boolean;
  stop: "cancel" | "abandon" | undefined;
  /** The reason if this person cannot use an action. */
  refusal: string | undefined;
}

function useAllowedActions(thread: Thread): AllowedActions {
  const strings = useStrings();
  const { data: session } = useSession();
  const isAdmin = session?.role === "admin";
  const nothing = { retry: false, stop: undefined, refusal: undefined };
  if (isStuck(thread)) {
    return isAdmin ? { ...nothing, retry: true, stop: "abandon" } : { ...nothing, refusal: strings.onlyAdminsRetry };
  }
  if (!isLive(thread)) return nothing;
  if (isAdmin || thread.started_by === session?.name) return { ...nothing, stop: "cancel" };
  return { ...nothing, refusal: strings.onlyStarterCancels(thread.started_by ? actorName(thread.started_by, strings) : "") };
}

/** The actions on a run that this person may use: retry, give up or cancel. */
export function RunControls({ thread }: { thread: Thread }) {
  const strings = useStrings();
  const allowed = useAllowedActions(thread);
  const retry = useRunAction("retry");
  const askAgain = useRunAction("ask-again");
  const [isConfirming, setConfirming] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  // The pressed button is gone, so the focus moves to the controls.
  const done = () => {
    setConfirming(false);
    place.current?.focus();
  };
  const retryRun = () => !retry.isPending && retry.mutate({ thread: thread.id }, { onSuccess: done });
  const { stop } = allowed;
  const keys: Shortcut[] = [
    // While questions are open, r rejects the focused one.
    ...(allowed.retry && thread.status === "error" ? [{ key: "r", label: strings.retryRun, run: retryRun, once: true }] : []),
    ...(stop ? [{ key: "x", label: strings.stopActions[stop].open, run: () => setConfirming(true), once: true }] : []),
  ];
  useKeys(strings.run, keys);
  return (
    <div ref={place} tabIndex={-1} className="run-controls" data-testid="run-controls">
      {isConfirming && stop ? <ConfirmStop thread={thread.id} how={stop} onBack={done} onDone={done} /> : (
        <Flex gap="small" wrap align="center">
          {allowed.retry && (
            <Button type="primary" loading={retry.isPending} onClick={retryRun} data-testid="retry-run">
              {thread.status === "error" ? <KeyLabel label={strings.retryRun} keyName="r" /> : strings.retryRun}
            </Button>
          )}
          {allowed.retry && thread.can_ask_again && (
            <Button
              loading={askAgain.isPending} onClick={() => askAgain.mutate({ thread: thread.id }, { onSuccess: done })}
              data-testid="ask-again"
            >
              {strings.askAgain}
            </Button>
          )}
          {stop && (
            <Button danger={stop === "abandon"} size={stop === "cancel" ? "small" : "middle"} onClick={() => setConfirming(true)} data-testid={`${stop}-run`}>
              <KeyLabel label={strings.stopActions[stop].open} keyName="x" />
            </Button>
          )}
          {allowed.refusal && <span className="quiet" data-testid="run-controls-refusal">{allowed.refusal}</span>}
        </Flex>
      )}
      <Problem error={retry.error ?? askAgain.error} />
      {thread.traceback && (
        <details className="traceback" data-testid="traceback">
          <summary>{strings.traceback}</summary>
          <pre>{visible(thread.traceback)}</pre>
        </details>
      )}
    </div>
  );
}
