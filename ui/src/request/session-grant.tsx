import { Button } from "antd";
import { useRequestStrings } from "../strings/detail";
import { KeyLabel } from "../base/key-label";
import type { DecisionFormState } from "./use-decision-form";

export const sessionKey = "s";

/** Approve the same calls in the rest of the client's session; its step says what it allows. */
export function SessionGrantButton({ form }: { form: DecisionFormState }) {
  const { granting } = useRequestStrings();
  if (!form.canGrantForSession) return null;
  return (
    <Button
      disabled={form.isLocked || form.blockedReason !== null} title={form.blockedReason ?? undefined} aria-keyshortcuts={sessionKey}
      onClick={() => form.startGrant(true)} data-testid="open-session-grant"
    >
      <KeyLabel label={granting.openForSession} keyName={sessionKey} />
    </Button>
  );
}
