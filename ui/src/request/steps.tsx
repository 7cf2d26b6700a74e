import { Button, Input, Checkbox, Select, Tag } from "antd";
import { useId, type KeyboardEvent, type RefObject } from "react";
import type { Json, Freedom, Decision, Request } from "../api/types";
import { KeyLabel, useKeys, modKey } from "../base/keys";
import { visible } from "../base/visible";
import { NumberInput } from "../form/number-input";
import { isUnread } from "../form/number-text";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { MessageInput } from "./message-input";
import { voterName, type ClaimState } from "./assignment";
import { ClaimControls } from "./claim-controls";
import { clientName, clientOf } from "./client-call";
import { DecideButton } from "./decide-button";
import { DecideBar } from "./decide-bar";
import { buttonLabel, editableValues, shorten } from "./decisions";
import { isChanged } from "./draft";
import { FactQuestion } from "./fact-question";
import { GrantScope } from "./grant-scope";
import { folderOf, hoursOffered, initialGrant, namedArguments, scopeOf, type GrantChoice } from "./granting";
import { ReassignForm } from "./reassign-form";
import type { DecisionFormState } from "./use-decision-form";
import { changesOf } from "./votes";

/** An administrator decides alone, with a reason. */
function OverrideStep({ form }: { form: DecisionFormState }) {
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

interface ChoiceProps {
  choice: GrantChoice;
  change: (change: Partial<GrantChoice>) => void;
  disabled: boolean;
}

/** What later calls may have for one argument. */
function ArgumentLimit({ name, value, choice, change, disabled }: ChoiceProps & { name: string; value: Json }) {
  const { granting } = useRequestStrings();
  const id = useId();
  const freedom = choice.freedoms[name] ?? "same";
  const freedoms: Freedom[] = typeof value === "number" ? ["same", "at-most", "any"] : ["same", "any"];
  return (
    <div className="grant-argument" data-testid={`grant-${name}`}>
      <label htmlFor={id}><code>{visible(name)}</code></label>
      <Select
        id={id} size="small" value={freedom} disabled={disabled} popupMatchSelectWidth={false}
        options={freedoms.map((each) => ({ value: each, label: granting.freedoms[each] }))}
        onChange={(selected) => change({ freedoms: { ...choice.freedoms, [name]: selected } })}
      />
      {freedom === "at-most" && typeof value === "number" && (
        <NumberInput
          size="small" value={choice.limits[name] ?? value} min={value} disabled={disabled} aria={{ "aria-label": `${visible(name)}: ${granting.freedoms["at-most"]}` }}
          onChange={(limit) => change({ limits: { ...choice.limits, [name]: limit ?? { unread: "" } } })}
        />
      )}
    </div>
  );
}

function Limits({ choice, change, disabled }: ChoiceProps) {
  const { granting } = useRequestStrings();
  const [until, uses] = [useId(), useId()];
  return (
    <div className="grant-limits">
      <label htmlFor={until}>{granting.until}</label>
      <Select
        id={until} size="small" value={choice.hours} disabled={disabled} data-testid="grant-until" popupMatchSelectWidth={false}
        options={hoursOffered.map((hours) => ({ value: hours, label: granting.hours(hours) }))} onChange={(hours) => change({ hours })}
      />
      <label htmlFor={uses}>{granting.maxUses}</label>
      <NumberInput
        id={uses} size="small" min={1} max={10_000} isWhole value={choice.maxUses} disabled={disabled} testId="grant-uses"
        onChange={(maxUses) => change({ maxUses: maxUses ?? { unread: "" } })}
      />
    </div>
  );
}

/** Approve the call together with later calls, within limits that the person chooses. */
function GrantStep({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  const { granting } = strings;
  const { request, draft, isLocked, isReady } = form;
  const choice = draft.grant ?? initialGrant(request);
  const folder = folderOf(request);
  const tool = visible(request.action?.name ?? "");
  const client = choice.isForSession ? clientOf(request) : undefined;
  const parts = { choice, disabled: isLocked, change: (changes: Partial<GrantChoice>) => form.change({ grant: { ...choice, ...changes } }) };
  return (
    <>
      <fieldset className="grant" data-testid="grant" data-session={client !== undefined}>
        <legend>{client === undefined ? granting.title(tool) : granting.sessionTitle(tool, visible(clientName(client)))}</legend>
        <p className="quiet">{granting.hint}</p>
        {namedArguments(request).map(([name, value]) => <ArgumentLimit key={name} {...parts} name={name} value={value} />)}
        {client === undefined && request.thread_id !== null && (
          <Checkbox checked={choice.onlyThread} disabled={isLocked} onChange={(event) => parts.change({ onlyThread: event.target.checked })} data-testid="grant-thread">
            {granting.onlyThread}
          </Checkbox>
        )}
        {client === undefined && folder !== undefined && (
          <Checkbox checked={choice.onlyFolder} disabled={isLocked} onChange={(event) => parts.change({ onlyFolder: event.target.checked })} data-testid="grant-folder">
            {granting.onlyFolder} <code>{visible(folder)}</code>
          </Checkbox>
        )}
        <Limits {...parts} />
        <div data-testid="grant-words" aria-live="polite">
          {isUnread(choice.maxUses) || granting.words(granting.hours(choice.hours), choice.maxUses)}
          <GrantScope scope={scopeOf(request, choice)} isThisSession={client !== undefined} />
        </div>
      </fieldset>
      <div className="button-bar">
        <Button type="primary" disabled={!isReady || isLocked} loading={form.decision.sending === "approve"} onClick={form.confirm} data-testid="confirm-grant">
          <KeyLabel label={granting.confirm} keyName="↵" />
        </Button>
        <Button onClick={form.back} disabled={form.decision.sending !== null} data-testid="back-to-decision" aria-keyshortcuts="Escape">
          <KeyLabel label={strings.backToDecision} keyName="esc" />
        </Button>
      </div>
    </>
  );
}

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
function EditStep({ form }: { form: DecisionFormState }) {
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
function ConfirmStep({ form }: { form: DecisionFormState }) {
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

function FollowUpStep({ form }: { form: DecisionFormState }) {
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
function RejectStep({ form, focusText }: { form: DecisionFormState; focusText: () => void }) {
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

const mostNamed = 3;

/** The key that agrees with the edit of an earlier voter. */
export const agreeKey = "v";

/** The edit of an earlier voter, and which values each of the two approvals approves. */
function Proposal({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  const { voting } = strings;
  const id = useId();
  const { request, proposal, agree, decision } = form;
  if (!proposal || form.isClosed || form.blockedReason !== null) return null;
  const changes = changesOf(request, proposal);
  const valuesOf = (side: "before" | "after") => [
    ...changes.slice(0, mostNamed).map(({ name, [side]: value }) => (
      value === undefined ? `${visible(name)}: ${strings.notSet}` : `${visible(name)}=${shorten(visible(JSON.stringify(value)))}`)),
    ...(changes.length > mostNamed ? ["…"] : []),
  ].join(", ");
  return (
    <div className="proposal">
      <Button
        type="primary" onClick={agree} loading={decision.sending === "edit"} disabled={form.isLocked} aria-keyshortcuts={agreeKey}
        aria-describedby={id} data-testid="agree-edit"
      >
        <KeyLabel label={voting.agreeWithEdit} keyName={agreeKey} />
      </Button>
      {editableValues(request) && <p className="quiet" id={id}>{voting.proposal(voterName(proposal, strings), valuesOf("after"), valuesOf("before"))}</p>}
    </div>
  );
}

export type Area = RefObject<HTMLDivElement | null>;

/** Focus the first element of a part of the form. */
export function focusOn(area: Area, selector: string): void {
  const found = area.current?.querySelector<HTMLElement>(selector);
  found?.focus();
  if (found instanceof HTMLInputElement) found.select();
}

interface StepProps {
  form: DecisionFormState;
  claim: ClaimState;
  area: Area;
  onReassigned: (names: string) => void;
}

/** The open step of the decision, or its buttons. */
export function Step({ form, claim, area, onReassigned }: StepProps) {
  switch (form.draft.mode) {
    case "editing": return <EditStep form={form} />;
    case "rejecting": return <RejectStep form={form} focusText={() => focusOn(area, ".decide textarea")} />;
    case "asking": return <FollowUpStep form={form} />;
    case "confirming": return <ConfirmStep form={form} />;
    case "reassigning": return <ReassignForm form={form} onReassigned={onReassigned} />;
    case "overriding": return <OverrideStep form={form} />;
    case "granting": return <GrantStep form={form} />;
    case "deciding": return <><Proposal form={form} /><DecideBar form={form}><ClaimControls form={form} claim={claim} /></DecideBar></>;
  }
}
