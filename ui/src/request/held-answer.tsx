import { Alert, Button } from "antd";
import { useRef, useState } from "react";
import { useUndo } from "../api/requests";
import { clockDifference } from "../api/call";
import type { Request } from "../api/types";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { useKeys, KeyLabel } from "../base/keys";
import { explain } from "../widgets/problem";
import { clockWithSeconds, useNow } from "../widgets/time";
import { visible } from "../base/visible";
import { titleOf } from "./outcome";

/** Return the seconds until a held answer takes effect, by the server's clock. */
function useSecondsLeft(until: string): number {
  return Math.max(0, Math.ceil((Date.parse(until) - useNow() - clockDifference()) / 1_000));
}

/** Return who has just answered and when it takes effect, for everybody else; null if no answer is held. */
export function heldNotice({ held }: Request, strings: RequestStrings): string | null {
  return held ? strings.voting.heldByOther[held.decision](visible(held.responder), clockWithSeconds(held.until, strings.language)) : null;
}

/** The seconds count down for the eyes; a screen reader hears them once. */
function Countdown({ until }: { until: string }) {
  const { voting } = useRequestStrings();
  const seconds = useSecondsLeft(until);
  const [initial] = useState(seconds);
  return (
    <>
      <span aria-hidden className="countdown" data-testid="held-countdown">{seconds > 0 ? voting.takesEffectIn(seconds) : voting.takesEffect}</span>
      <output className="visually-hidden">{voting.announcement(initial)}</output>
    </>
  );
}

interface HeldAnswerProps {
  request: Request;
  /** Name the request, because it is not open. */
  isElsewhere?: boolean;
  /** True if this answer handles the key. */
  isActive: boolean;
  onUndone?: () => void;
}

/** The person's own answer, which they may undo until it takes effect. */
export function HeldAnswer({ request, isElsewhere = false, isActive, onUndone }: HeldAnswerProps) {
  const strings = useRequestStrings();
  const { voting } = strings;
  const undo = useUndo(request);
  const { held } = request;
  const isUndoing = useRef(false);
  const run = () => {
    if (isUndoing.current) return;
    isUndoing.current = true;
    undo.mutate(undefined, {
      onSuccess: onUndone,
      onSettled: () => {
        isUndoing.current = false;
      },
    });
  };
  useKeys(strings.keysOfRequest, isActive && held ? [{ key: "u", label: voting.undoKey, run, once: true, isUrgent: true }] : []);
  if (!held) return null;
  return (
    <Alert
      type={undo.error ? "error" : "info"} showIcon={!isElsewhere} role="presentation" data-testid="held-answer" data-id={request.id}
      title={(
        <div className="text-lines">
          {isElsewhere && <strong className="one-line">{titleOf(request, strings)}</strong>}
          <span>{voting.heldByYou[held.decision]} <Countdown until={held.until} /></span>
          {undo.error && <span role="alert">{explain(undo.error, strings)}</span>}
        </div>
      )}
      action={(
        <Button onClick={run} loading={undo.isPending} aria-keyshortcuts="u" data-testid="undo">
          <KeyLabel label={voting.undo} keyName="u" />
        </Button>
      )}
    />
  );
}
