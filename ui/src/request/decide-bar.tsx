import { Button } from "antd";
import type { ReactNode } from "react";
import type { ActionLook, Decision } from "../api/types";
import { useRequestStrings } from "../strings/use-request-strings";
import { buttonLabel, decideKeys, editableValues, isFollowUpAllowed, offeredDecisions } from "./decisions";
import { isChanged } from "./draft";
import type { DecisionFormState } from "./use-decision-form";

/** A button label with its keyboard shortcut. */
export function KeyLabel({ label, keyName }: { label: string; keyName: string }) {
  return <span>{label}<kbd className="key-hint" aria-hidden>{keyName}</kbd></span>;
}

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
  const isSending = sending === decision;
  const isSecondary = decision === "respond" && isFollowUpAllowed(form.request) && !solid;
  const style = form.request.actions?.[decision]?.style ?? (isSecondary ? "default" : null);
  return (
    <Button
      {...buttonStyle(decision, style, solid)}
      data-testid={testId}
      title={form.blockedReason ?? title}
      aria-keyshortcuts={keyName}
      loading={isSending}
      disabled={disabled || form.isClosed || form.blockedReason !== null || (sending !== null && !isSending)}
      // A key that is still held down from the previous step must not decide.
      onKeyDown={(event) => event.repeat && event.preventDefault()}
      // The next request may open under the pointer; the second click of a double-click must not decide it.
      onClick={(event) => event.detail < 2 && onClick()}
    >
      {isSending ? strings.sending : <KeyLabel label={label} keyName={keyName} />}
    </Button>
  );
}

/** The buttons of all decisions, followed by the actions that are not decisions. */
export function DecideBar({ form, children }: { form: DecisionFormState; children: ReactNode }) {
  const strings = useRequestStrings();
  const { request } = form;
  const waitsForChange = !editableValues(request) && !isChanged(request, form.draft);
  const buttons = offeredDecisions(request).map((decision) => (
    <DecideButton
      key={decision}
      form={form}
      decision={decision}
      testId={`decide-${decision}`}
      label={buttonLabel(request, decision, strings)}
      keyName={decideKeys[decision]}
      disabled={decision === "edit" && waitsForChange}
      title={decision === "edit" && waitsForChange ? strings.editNeedsChange : undefined}
      onClick={() => form.start(decision)}
    />
  ));
  return (
    <div className="button-bar">
      {buttons.slice(0, -1)}
      {/* On a phone the other actions stand beside the last decision and never in their own row. */}
      <div className="button-bar-end">{buttons.slice(-1)}{children}</div>
    </div>
  );
}
