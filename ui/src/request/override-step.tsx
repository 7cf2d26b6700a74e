import { Button, Input } from "antd";
import { useId } from "react";
import { useRequestStrings } from "../strings/detail";
import { KeyLabel } from "../base/key-label";
import type { DecisionFormState } from "./use-decision-form";

/** An administrator decides alone, with a reason. */
export function OverrideStep({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  const { voting } = strings;
  const id = useId();
  const { draft, change, isLocked, isReady, isExcluded, request } = form;
  return (
    <>
      <div className="message-input">
        <p className="quiet">{voting.overrideHint}</p>
        <label htmlFor={id}>{voting.overrideReason}</label>
        <Input.TextArea
          id={id} value={draft.override ?? ""} readOnly={isLocked} required autoSize={{ minRows: 2, maxRows: 10 }} data-testid="override-reason"
          onChange={(event) => change({ override: event.target.value })}
        />
      </div>
      <div className="button-bar">
        {request.allowed.includes("approve") && (
          <Button type="primary" disabled={!isReady || isLocked} loading={form.decision.sending === "approve"} onClick={() => form.override("approve")} data-testid="approve-anyway">
            <KeyLabel label={voting.approveAnyway} keyName="↵" />
          </Button>
        )}
        {isExcluded && request.allowed.includes("reject") && (
          <Button danger disabled={!isReady || isLocked} loading={form.decision.sending === "reject"} onClick={() => form.override("reject")} data-testid="reject-anyway">
            {voting.rejectAnyway}
          </Button>
        )}
        <Button onClick={form.back} disabled={isLocked} data-testid="back-to-decision" aria-keyshortcuts="Escape">
          <KeyLabel label={strings.backToDecision} keyName="esc" />
        </Button>
      </div>
    </>
  );
}
