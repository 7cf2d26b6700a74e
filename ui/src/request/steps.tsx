import { Button, Input, Tag } from "antd";
import { useId } from "react";
import type { Decision, Request } from "../api/types";
import { useKeys } from "../widgets/keys";
import { DecideButton, Labelled, labelOf } from "./decide-bar";
import { isChanged } from "./draft";
import type { Desk } from "./use-desk";
import { useWords, type Words } from "./words";
import { WordsBox } from "./words-box";

interface ConfirmProps {
  desk: Desk;
  decision: Decision;
  testId: string;
  label: string;
  title?: string | undefined;
}

/** The end of every step: do it, or go back. */
function Confirm({ desk, decision, testId, label, title }: ConfirmProps) {
  const strings = useWords();
  return (
    <div className="bar">
      <DecideButton
        desk={desk} decision={decision} testId={testId} label={label} keyName="↵" solid disabled={!desk.ready}
        title={title} onClick={desk.confirm}
      />
      <Button
        onClick={desk.back} disabled={desk.decision.sending !== null} data-testid="back-to-decision"
        aria-keyshortcuts="Escape"
      >
        <Labelled label={strings.keepDeciding} keyName="esc" />
      </Button>
    </div>
  );
}

/** A costly decision is made by somebody who can say what it is about. */
function NameBox({ desk }: { desk: Desk }) {
  const strings = useWords();
  const id = useId();
  const { target, typedName, typeName, ready, frozen, confirm } = desk;
  if (!target) return null;
  const isWrong = typedName.length >= target.name.length && !ready && typedName !== target.name;
  return (
    <div className="words">
      <label htmlFor={id}>
        {strings.nameTarget(target.label)} <strong><code data-testid="target-name">{target.name}</code></strong>
      </label>
      <Input
        id={id} value={typedName} readOnly={frozen} autoComplete="off" spellCheck={false} data-testid="type-name"
        aria-describedby={`${id}-wrong`} onChange={(event) => typeName(event.target.value)}
        onPressEnter={(event) => {
          if (!event.nativeEvent.isComposing) confirm();
        }}
      />
      <output id={`${id}-wrong`} className="quiet">{isWrong && strings.nameWrong}</output>
    </div>
  );
}

function hintOf({ action, kind }: Request, { editing, editingLearning, editingTask }: Words): string {
  if (kind === "learning") return editingLearning;
  return action ? editing : editingTask;
}

/** The last step of an edit; the editors stand among the facts above. */
export function EditStep({ desk }: { desk: Desk }) {
  const strings = useWords();
  const changed = isChanged(desk.request, desk.draft);
  return (
    <>
      <p className="quiet">{hintOf(desk.request, strings)}</p>
      <NameBox desk={desk} />
      <Confirm
        desk={desk} decision="edit" testId="confirm-edit"
        label={desk.request.action ? strings.confirmEdit : labelOf(desk.request, "edit", strings)}
        title={changed ? undefined : strings.editNeedsChange}
      />
    </>
  );
}

export function NameStep({ desk }: { desk: Desk }) {
  const strings = useWords();
  return (
    <>
      <NameBox desk={desk} />
      <Confirm
        desk={desk} decision={desk.wanted} testId="confirm-name" label={labelOf(desk.request, desk.wanted, strings)}
      />
    </>
  );
}

export function AskStep({ desk }: { desk: Desk }) {
  const strings = useWords();
  return (
    <>
      <WordsBox desk={desk} part="message" label={strings.yourQuestion} />
      <Confirm desk={desk} decision="respond" testId="confirm-respond" label={strings.sendWords} />
    </>
  );
}

const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");

/** Put a line at the end of a text, or take it out where it stands already. */
function toggled(text: string, line: string): string {
  const lines = linesOf(text);
  if (lines.includes(line)) return lines.filter((one) => one !== line).join("\n");
  return [...(text.trim() ? [text.trimEnd()] : []), line].join("\n");
}

/** Why not: a chip writes its words into the box, and the box is what is sent. */
export function RejectStep({ desk, focusText }: { desk: Desk; focusText: () => void }) {
  const strings = useWords();
  const { draft, change, frozen } = desk;
  const toggle = (reason: string) => {
    if (!frozen) change({ reason: toggled(draft.reason, reason) });
  };
  const chosen = new Set(linesOf(draft.reason));
  const reasons = desk.request.kind === "learning" ? strings.learningReasons : strings.reasons;
  useKeys(strings.keysOfReasons, [
    ...reasons.map((reason, index) => ({
      key: String(index + 1), label: reason, run: () => toggle(reason), once: true,
    })),
    { key: "0", label: strings.ownWords, run: focusText },
  ]);
  return (
    <>
      <fieldset className="chips">
        <legend>{strings.why}</legend>
        {reasons.map((reason, index) => (
          <Tag.CheckableTag
            key={reason} checked={chosen.has(reason)} onChange={() => toggle(reason)}
            data-testid={`reason-${index + 1}`} aria-keyshortcuts={String(index + 1)}
          >
            <kbd className="key" aria-hidden>{index + 1}</kbd>{reason}
          </Tag.CheckableTag>
        ))}
      </fieldset>
      <WordsBox desk={desk} part="reason" label={strings.rejectReason} testId="reject-reason" />
      <Confirm desk={desk} decision="reject" testId="confirm-reject" label={labelOf(desk.request, "reject", strings)} />
    </>
  );
}
