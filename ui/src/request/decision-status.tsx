import { Alert } from "antd";
import type { Decision } from "../api/types";
import { visible } from "../base/visible";
import { messageAt } from "../form/values";
import { useRequestStrings } from "../strings/detail";
import type { ClaimState } from "./assignment";
import { useArmedDecision } from "./beat";
import { decideKeys, editableValues } from "./decisions";
import { draftText, isEdited, keysOf } from "./draft";
import { RefusalAlert } from "./refusal-alert";
import { OutcomeLines, useRequestOutcome } from "./request-outcome";
import type { DecisionFormState } from "./use-decision-form";

/** Ask for a second key where another kind of request follows many equal answers. */
function BeatNotice({ decision }: { decision: Decision }) {
  const { stakes } = useRequestStrings();
  return <p className="beat" data-testid="beat">{stakes.anotherKind(decideKeys[decision])}</p>;
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
