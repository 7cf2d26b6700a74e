import { Button, Tag } from "antd";
import type { KeyboardEvent } from "react";
import type { Decision, Request } from "../api/types";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { useKeys } from "../base/keys";
import { MessageInput } from "./answer-area";
import { DecideButton } from "./decide-bar";
import { KeyLabel, modKey } from "../base/key-label";
import { buttonLabel } from "./decisions";
import { isChanged } from "./draft";
import { FactQuestion } from "./fact-question";
import type { DecisionFormState } from "./use-decision-form";

interface ConfirmBarProps {
  form: DecisionFormState;
  decision: Decision;
  testId: string;
  label: string;
  title?: string | undefined;
  /** True if the step has a text, in which Enter begins a line. */
  hasText?: boolean;
}

/** The buttons of a step: confirm, or go back. */
function ConfirmBar({ form, decision, testId, label, title, hasText = false }: ConfirmBarProps) {
  const strings = useRequestStrings();
  return (
    <div className="button-bar">
      <DecideButton
        form={form} decision={decision} testId={testId} label={label} keyName={hasText ? `${modKey} ↵` : "↵"} solid disabled={!form.isReady}
        title={title} onClick={form.confirm}
      />
      <Button
        onClick={form.back} disabled={form.decision.sending !== null} data-testid="back-to-decision"
        aria-keyshortcuts="Escape"
      >
        <KeyLabel label={strings.backToDecision} keyName="esc" />
      </Button>
    </div>
  );
}

function hintOf({ action, kind }: Request, { editHint, editLearningHint, editTaskHint }: RequestStrings): string {
  if (kind === "learning") return editLearningHint;
  return action ? editHint : editTaskHint;
}

/** The last step of an edit; the editors are among the facts above. */
export function EditStep({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  const changed = isChanged(form.request, form.draft);
  return (
    <>
      <p className="quiet">{hintOf(form.request, strings)}</p>
      <FactQuestion state={form.question} isLocked={form.isLocked} />
      <ConfirmBar
        form={form} decision="edit" testId="confirm-edit"
        label={form.request.action ? strings.confirmEdit : buttonLabel(form.request, "edit", strings)}
        title={changed ? undefined : strings.editNeedsChange}
      />
    </>
  );
}

/** The step before a call with a high tier: a second look, and a question of fact if it cannot be undone. */
export function ConfirmStep({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  return (
    <>
      {form.question.fact ? <FactQuestion state={form.question} isLocked={form.isLocked} /> : <p data-testid="look-again">{strings.stakes.lookAgain}</p>}
      <ConfirmBar
        form={form} decision={form.pendingDecision} testId="confirm-stakes" label={buttonLabel(form.request, form.pendingDecision, strings)}
      />
    </>
  );
}

export function FollowUpStep({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  return (
    <>
      <MessageInput form={form} part="message" label={strings.messageToAgent} />
      <ConfirmBar form={form} decision="respond" testId="confirm-respond" label={strings.sendMessage} hasText />
    </>
  );
}

const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");

/** Add a line to the end of a text, or remove it if it is there. */
function toggleLine(text: string, line: string): string {
  const lines = linesOf(text);
  if (lines.includes(line)) return lines.filter((one) => one !== line).join("\n");
  return [...(text.trim() ? [text.trimEnd()] : []), line].join("\n");
}

/** Return whether a key begins a text: a character, or one that an input method or a dead key makes. */
function beginsText(event: KeyboardEvent): boolean {
  const { key, ctrlKey, metaKey, altKey, repeat } = event;
  const isCharacter = [...key].length === 1 ? !" ?".includes(key) : key === "Process" || key === "Dead";
  return isCharacter && !repeat && (!(ctrlKey || metaKey || altKey) || event.getModifierState("AltGraph"));
}

/** The reason for a rejection; a chip adds its text to the box, and the box is sent. */
export function RejectStep({ form, focusText }: { form: DecisionFormState; focusText: () => void }) {
  const strings = useRequestStrings();
  const { draft, change, isLocked } = form;
  const toggle = (reason: string) => {
    if (!isLocked) change({ reason: toggleLine(draft.reason, reason) });
  };
  const selectedReasons = new Set(linesOf(draft.reason));
  const reasons = form.request.kind === "learning" ? strings.learningReasons : strings.reasons;
  const typed = (event: KeyboardEvent) => {
    if (isLocked || !beginsText(event) || Number(event.key) <= reasons.length) return;
    // The focus moves before the browser writes the character, so it is written in the text and decides nothing.
    event.stopPropagation();
    if (draft.reason && !draft.reason.endsWith("\n")) change({ reason: `${draft.reason}\n` });
    focusText();
  };
  useKeys(strings.keysOfReasons, [
    ...reasons.map((reason, index) => ({
      key: String(index + 1), label: reason, run: () => toggle(reason), once: true,
    })),
    { key: "0", label: strings.writeReason, run: focusText },
  ]);
  return (
    <>
      <fieldset className="chips">
        <legend>{strings.rejectReasonTitle}</legend>
        {reasons.map((reason, index) => (
          <Tag.CheckableTag
            key={reason} checked={selectedReasons.has(reason)} onChange={() => toggle(reason)}
            data-testid={`reason-${index + 1}`} aria-keyshortcuts={String(index + 1)} onKeyDown={typed}
          >
            <kbd className="key-hint" aria-hidden>{index + 1}</kbd>{reason}
          </Tag.CheckableTag>
        ))}
      </fieldset>
      <MessageInput form={form} part="reason" label={strings.rejectReason} keyName="0" testId="reject-reason" />
      <ConfirmBar form={form} decision="reject" testId="confirm-reject" label={buttonLabel(form.request, "reject", strings)} hasText />
    </>
  );
}
