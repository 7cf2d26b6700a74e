import { Alert, Button } from "antd";
import type { ReactNode } from "react";
import type { ActionLook, Decision } from "../api/types";
import { messageAt } from "../form/values";
import { useRequestStrings } from "../strings/detail";
import { deliberate } from "../base/deliberate";
import { KeyLabel } from "../base/key-label";
import { visible } from "../base/visible";
import type { ClaimState } from "./assignment";
import { useArmedDecision } from "./beat";
import { BeatNotice } from "./beat-notice";
import { OutcomeLines, useRequestOutcome } from "./decision-record";
import { agentLabelOf, buttonLabel, decideKeys, editableValues, hasButton, isFollowUpAllowed, isOriginal } from "./decisions";
import { draftText, isChanged, isEdited, keysOf } from "./draft";
import { RefusalAlert } from "./notices";
import { SessionGrantButton } from "./session-grant";
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

function OverrideButton({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  if (!form.canOverride) return null;
  return (
    <Button type="text" disabled={form.isLocked} onClick={() => form.change({ mode: "overriding" })} data-testid="override">
      {strings.voting.override}
    </Button>
  );
}

/** The buttons of all decisions, followed by the actions that are not decisions. */
export function DecideBar({ form, children }: { form: DecisionFormState; children: ReactNode }) {
  const strings = useRequestStrings();
  const { request } = form;
  const waitsForChange = !editableValues(request) && !isChanged(request, form.draft);
  if (form.isExcluded) return <div className="button-bar"><OverrideButton form={form} /></div>;
  const buttons = form.offered.filter((decision) => hasButton(request, decision)).map((decision) => (
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
  const [lead, ...others] = buttons.slice(0, -1);
  return (
    <div className="button-bar">
      {lead}
      <SessionGrantButton form={form} />
      {others}
      {/* On a phone the other actions stand beside the last decision and never in their own row. */}
      <div className="button-bar-end">{buttons.slice(-1)}<OverrideButton form={form} />{children}</div>
    </div>
  );
}

/** Shown when the request ended while its form was open: who decided, and what followed. */
function ClosedAlert({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  const ending = useRequestOutcome(form.request, form.decision.winner);
  if (!ending) return null;
  const hasDraft = draftText(form.request, form.draft) !== "";
  const lines = [...ending.lines, ...(hasDraft ? [strings.answeredElsewhere] : [])];
  const title = <div className="text-lines"><strong>{ending.title}</strong><OutcomeLines lines={lines} /></div>;
  return <Alert type="warning" showIcon title={title} data-testid="ended" />;
}

function ProblemsAlert({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  const keys = keysOf(form.request, form.draft);
  const unplaced = form.decision.problems.filter((problem) => !keys.some((key) => messageAt([problem], key)));
  return (
    <Alert
      type="error" showIcon data-testid="problems" title={strings.checkFields}
      description={unplaced.length > 0 && unplaced.map(({ field, message }) => (
        <div key={field + message}>{visible(field ? `${field}: ${message}` : message)}</div>))}
    />
  );
}

function StatusMessage({ form, claim }: { form: DecisionFormState; claim: ClaimState }) {
  const strings = useRequestStrings();
  const { request, draft, decision, isClosed, blockedReason } = form;
  const armed = useArmedDecision(request);
  if (decision.sending !== null) return <span className="visually-hidden">{strings.sending}</span>;
  if (isClosed) return <ClosedAlert form={form} />;
  const claimant = claim.claimant?.name ?? null;
  if (decision.error) return <RefusalAlert error={decision.error} retry={decision.retry} claimant={claimant} />;
  if (claim.error) return <RefusalAlert error={claim.error} retry={null} claimant={claimant} />;
  if (decision.problems.length > 0) return <ProblemsAlert form={form} />;
  if (armed) return <BeatNotice decision={armed} />;
  const notice = blockedReason ?? form.stageNotice;
  if (notice && draft.mode === "deciding") return <p className="quiet" data-testid="blocked">{notice}</p>;
  const approves = draft.mode === "deciding" || draft.mode === "confirming";
  const unsent = approves && editableValues(request) !== null && isEdited(request, draft);
  return unsent ? <p className="quiet" data-testid="unsent-edits">{strings.unsentEdits}</p> : null;
}

/** The status of the decision, shown above the buttons so that they do not move. */
export function DecisionStatus(props: { form: DecisionFormState; claim: ClaimState }) {
  return <div className="decision-status" aria-live="polite"><StatusMessage {...props} /></div>;
}
