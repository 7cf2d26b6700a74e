import { useEffect, useRef, type RefObject } from "react";
import type { Decision, Request } from "../api/types";
import { AgentContext } from "./agent-context";
import { AnswerArea } from "./answer-area";
import type { EditingState } from "./argument-editor";
import { useClaim, type ClaimState } from "./assignment";
import { ClaimControls } from "./claim-controls";
import { DecideBar, DecisionStatus } from "./decide-bar";
import { hasAnswer } from "./decisions";
import type { Draft, Mode } from "./draft";
import { CollapsibleFacts, Facts } from "./facts";
import { GrantStep } from "./grant-step";
import { OverrideStep } from "./override-step";
import { Precedent } from "./precedent";
import { DeputyNote } from "./notices";
import { ReassignForm } from "./reassign-form";
import { ConfirmStep, EditStep, FollowUpStep, RejectStep } from "./steps";
import { useDecisionForm, type DecisionFormState } from "./use-decision-form";
import { useRequestKeys } from "./use-request-keys";
import { Proposal, Votes } from "./votes";

type Area = RefObject<HTMLDivElement | null>;

const focusable = ":is(input, textarea, button, [tabindex='0']):not([disabled])";

function focusOn(area: Area, selector: string): void {
  const found = area.current?.querySelector<HTMLElement>(selector);
  found?.focus();
  if (found instanceof HTMLInputElement) found.select();
}

/** Focus the first invalid field after a refusal. */
function useFocusOnRefusal(area: Area, refusals: number): void {
  useEffect(() => {
    if (refusals > 0) focusOn(area, `[data-invalid="true"] ${focusable}`);
  }, [area, refusals]);
}

const firstFocusOf: Record<Mode, string> = {
  deciding: "", editing: `.value-editor ${focusable}`,
  rejecting: ".chips [role=checkbox]", asking: ".decide textarea",
  confirming: ".decide :is(input, [data-testid=confirm-stakes])",
  reassigning: ".decide input",
  overriding: ".decide textarea", granting: ".grant[data-session=false] input, .grant[data-session=true] ~ .button-bar [data-testid=confirm-grant]",
};
const openerOf: Partial<Record<Mode, string>> = {
  editing: "[data-testid=decide-edit]", rejecting: "[data-testid=decide-reject]", asking: "[data-testid=decide-respond]",
  confirming: "[data-testid=decide-approve]", reassigning: "[data-testid=reassign], [data-testid=more-actions]", overriding: "[data-testid=override]",
  granting: "[data-testid=open-session-grant], [data-testid=open-grant], [data-testid=more-actions]",
};

/** Focus the first element of a step; when it closes, focus the button that opened it. */
function useStepFocus(area: Area, mode: Mode): void {
  const before = useRef(mode);
  useEffect(() => {
    if (before.current === mode) return;
    focusOn(area, firstFocusOf[mode] || `:is(${openerOf[before.current] ?? ""})`);
    // The focus may show only the beginning of a step.
    if (mode !== "editing") area.current?.querySelector(".decide")?.scrollIntoView({ block: "nearest" });
    before.current = mode;
  }, [area, mode]);
}

/** Open the step of a decision that was chosen before the request was loaded. */
function useInitialDecision({ start }: DecisionFormState, initialDecision: Decision | undefined): void {
  const isOpened = useRef(false);
  useEffect(() => {
    if (initialDecision === undefined || isOpened.current) return;
    isOpened.current = true;
    start(initialDecision);
  }, [start, initialDecision]);
}

interface StepProps {
  form: DecisionFormState;
  claim: ClaimState;
  area: Area;
  onReassigned: (names: string) => void;
}

function Step({ form, claim, area, onReassigned }: StepProps) {
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

function editingOf({ draft, change, decision, isLocked, confirm }: DecisionFormState): EditingState | undefined {
  if (draft.mode !== "editing") return undefined;
  const onChange = (changes: Partial<Draft>, changed: string) => {
    change(changes);
    decision.clearProblem(changed);
  };
  return { draft, onChange, onEnter: confirm, problems: decision.problems, disabled: isLocked };
}

interface DecisionFormProps {
  request: Request;
  onDecided: (completed: Request) => void;
  onReassigned: (names: string) => void;
  /** True if this form handles the keyboard shortcuts. */
  isActive: boolean;
  /** Focus the first field when the form opens. */
  focusesFields: boolean;
  /** The decision whose step opens at once. */
  initialDecision: Decision | undefined;
  /** Collapse the facts, because they are shown in other words beside the form. */
  collapsesFacts: boolean;
}

/** The form of an open request. If the request ends elsewhere, the form stays with the typed text. */
export function DecisionForm({ request, onDecided, onReassigned, isActive, focusesFields, initialDecision, collapsesFacts }: DecisionFormProps) {
  const area = useRef<HTMLDivElement>(null);
  const form = useDecisionForm(request, onDecided);
  const claim = useClaim(request);
  const { draft, decision } = form;
  useEffect(() => {
    if (focusesFields) area.current?.querySelector<HTMLElement>(`.answer ${focusable}`)?.focus({ preventScroll: true });
  }, [focusesFields]);
  useInitialDecision(form, initialDecision);
  useFocusOnRefusal(area, decision.refusals);
  useStepFocus(area, draft.mode);
  useRequestKeys(form, claim, {
    isActive,
    focusFirst: hasAnswer(request) ? () => focusOn(area, `.answer ${focusable}`) : null,
    leaveText: () => area.current?.closest("article")?.querySelector("h2")?.focus(),
  });
  return (
    <div ref={area} className="decision-form" data-mode={draft.mode} aria-busy={decision.sending !== null}>
      <CollapsibleFacts request={request} isCollapsed={collapsesFacts && draft.mode !== "editing"}>
        <Facts request={request} editing={editingOf(form)} />
        <Precedent request={request} edited={draft.mode === "editing" ? draft.edited : undefined} isActive={isActive} />
        <AgentContext request={request} />
      </CollapsibleFacts>
      <AnswerArea form={form} />
      <Votes request={request} />
      <footer className="decide" data-testid="decide">
        {form.standsIn && !form.isClosed && <DeputyNote absence={form.standsIn} />}
        <Step form={form} claim={claim} area={area} onReassigned={onReassigned} />
        <DecisionStatus form={form} claim={claim} />
      </footer>
    </div>
  );
}
