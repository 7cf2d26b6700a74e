import { Button } from "antd";
import type { Decision, ActionLook } from "../api/types";
import { deliberate } from "../base/deliberate";
import { KeyLabel } from "../base/keys";
import { useRequestStrings } from "../strings/detail";
import { useArmedDecision } from "./beat";
import { agentLabelOf, isFollowUpAllowed, isOriginal } from "./decisions";
import type { DecisionFormState } from "./use-decision-form";

interface DecideButtonProps {
  form: DecisionFormState;
  decision: Decision;
  testId: string;
  label: string;
  keyName: string;
  solid?: boolean;
  disabled?: boolean;
  title?: string | undefined;
  onClick: () => void;
}

function buttonStyle(decision: Decision, style: ActionLook["style"], solid: boolean) {
  // A rejection is never shown as the primary button.
  const danger = style === "danger" || (decision === "reject" && (!style || style === "primary"));
  if (danger) return { danger, type: solid ? "primary" : "default" } as const;
  const primary = style ? style === "primary" : decision === "approve" || decision === "respond";
  return { type: primary || solid ? "primary" : "default" } as const;
}

/** The button of one decision, with the label and style from the request. */
export function DecideButton(props: DecideButtonProps) {
  const { form, decision, testId, label, keyName, solid = false, disabled = false, title, onClick } = props;
  const strings = useRequestStrings();
  const { sending } = form.decision;
  const [isSending, isArmed] = [sending === decision, useArmedDecision(form.request) === decision];
  const isSecondary = !solid && (isOriginal(form.request, decision) || (decision === "respond" && isFollowUpAllowed(form.request)));
  const style = form.request.actions?.[decision]?.style ?? (isSecondary ? "default" : null);
  return (
    <Button
      {...buttonStyle(decision, style, solid)}
      data-testid={testId}
      data-armed={isArmed}
      title={form.blockedReason ?? title ?? (agentLabelOf(form.request, decision) || undefined)} aria-keyshortcuts={keyName}
      loading={isSending}
      disabled={disabled || form.isClosed || form.blockedReason !== null || (sending !== null && !isSending)}
      // The key may be held down from the previous step, and the next request may open under the pointer.
      {...deliberate(onClick)}
    >
      {isSending ? strings.sending : <KeyLabel label={label} keyName={keyName} />}
    </Button>
  );
}
