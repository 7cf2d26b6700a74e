import { Button } from "antd";
import type { ReactNode } from "react";
import { KeyLabel } from "../base/keys";
import { useRequestStrings } from "../strings/detail";
import { decideKeys, buttonLabel, editableValues, hasButton } from "./decisions";
import { isChanged } from "./draft";
import type { DecisionFormState } from "./use-decision-form";
import { DecideButton } from "./decide-button";

export const sessionKey = "s";

/** Approve the same calls in the rest of the client's session; its step says what it allows. */
function SessionGrantButton({ form }: { form: DecisionFormState }) {
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
