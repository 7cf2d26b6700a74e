import { useEffect, useRef } from "react";
import type { Decision, Request, Absence } from "../api/types";
import { useKeys, type Shortcut } from "../base/keys";
import { visible } from "../base/visible";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { clock } from "../widgets/time";
import { AgentContext } from "./agent-context";
import { AnswerArea } from "./answer-area";
import type { EditingState } from "./argument-editor";
import { type ClaimState, needsVotes, useClaim } from "./assignment";
import { useBeatOf, type Beat } from "./beat";
import { CollapsibleFacts } from "./collapsible-facts";
import { sessionKey } from "./decide-bar";
import { DecisionStatus } from "./decision-status";
import { buttonLabel, decideKeys, editableValues, hasButton, isFreeAnswer, takesMessageAsAnswer, hasAnswer } from "./decisions";
import { isChanged, lacksMessage, type Draft, type Mode } from "./draft";
import { Facts } from "./facts";
import { Precedent } from "./precedent";
import { agreeKey, focusOn, Step, type Area } from "./steps";
import { type DecisionFormState, useDecisionForm } from "./use-decision-form";
import { Votes } from "./votes";

/** Return the decision that Ctrl+Enter submits from inside a form. */
function primaryDecision(form: DecisionFormState): Decision | undefined {
  // A typed answer takes precedence over the approve button beside it.
  if (isFreeAnswer(form.request)) return "respond";
  return (["approve", "respond"] as const).find((decision) => form.offered.includes(decision));
}

/** Return whether the input for a decision is still missing; its key then focuses the input. */
function isIncomplete({ request, draft }: DecisionFormState, decision: Decision): boolean {
  if (decision === "respond") return takesMessageAsAnswer(request) && lacksMessage(request, draft);
  return decision === "edit" && !editableValues(request) && !isChanged(request, draft);
}

function decisionKeys(form: DecisionFormState, beat: Beat, strings: RequestStrings, focusFirst: (() => void) | null): Shortcut[] {
  const { request } = form;
  const decide = (decision: Decision) => () => {
    if (isIncomplete(form, decision)) focusFirst?.();
    else if (beat.mayDecide(request, decision)) form.start(decision);
  };
  const main = primaryDecision(form);
  return [
    ...form.offered.filter((decision) => hasButton(request, decision)).map((decision) => ({
      key: decideKeys[decision], label: buttonLabel(request, decision, strings), run: decide(decision), once: true,
    })),
    ...(form.canGrantForSession ? [{ key: sessionKey, label: strings.granting.openForSession, run: () => beat.isSettled(request) && form.startGrant(true), once: true }] : []),
    ...(main ? [{ key: "mod+Enter", label: strings.sendKey, run: decide(main), whileTyping: true, once: true }] : []),
    ...(focusFirst ? [{ key: "Enter", label: strings.firstField, run: focusFirst, once: true }] : []),
  ];
}

function stepKeys({ confirm: send, back, draft, request }: DecisionFormState, beat: Beat, strings: RequestStrings): Shortcut[] {
  const confirm = () => beat.isSettled(request) && send();
  const leave = { key: "Escape", label: strings.backToDecision, run: back, whileTyping: true };
  if (draft.mode === "reassigning") return [leave];
  return [
    { key: "Enter", label: strings.confirmKey, run: confirm, once: true },
    { key: "mod+Enter", label: strings.sendKey, run: confirm, whileTyping: true, once: true },
    leave,
  ];
}

function agreeKeys({ request, proposal, agree }: DecisionFormState, beat: Beat, { voting }: RequestStrings): Shortcut[] {
  return proposal ? [{ key: agreeKey, label: voting.agreeWithEdit, run: () => beat.isSettled(request) && agree(), once: true }] : [];
}

function claimKeys({ request }: DecisionFormState, { claimant, claim, release }: ClaimState, strings: RequestStrings): Shortcut[] {
  if (needsVotes(request)) return [];
  return claimant
    ? [{ key: "u", label: strings.release, run: release, once: true }]
    : [{ key: "c", label: strings.claim, run: claim, once: true }];
}

interface KeysOptions {
  /** True if this request handles the keys; of several open requests, the focused one does. */
  isActive: boolean;
  /** Focus the first field; null if there is none. */
  focusFirst: (() => void) | null;
  /** Move the focus out of a text, so that keys decide again. */
  leaveText: () => void;
}

/** Bind the keyboard shortcuts of an open request. */
function useRequestKeys(form: DecisionFormState, claim: ClaimState, { isActive, focusFirst, leaveText }: KeysOptions): void {
  const strings = useRequestStrings();
  const beat = useBeatOf(form.request, isActive);
  const shortcuts = () => {
    if (!isActive) return [];
    if (form.draft.mode !== "deciding") return stepKeys(form, beat, strings);
    const leave = { key: "Escape", label: strings.leaveText, run: leaveText, whileTyping: "only" } as const;
    if (form.isClosed || form.blockedReason !== null) return [leave];
    return [...decisionKeys(form, beat, strings, focusFirst), ...agreeKeys(form, beat, strings), ...claimKeys(form, claim, strings), leave];
  };
  useKeys(strings.keysOfRequest, shortcuts());
}

const focusable = ":is(input, textarea, button, [tabindex='0']):not([disabled])";

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

function editingOf({ draft, change, decision, isLocked, confirm }: DecisionFormState): EditingState | undefined {
  if (draft.mode !== "editing") return undefined;
  const onChange = (changes: Partial<Draft>, changed: string) => {
    change(changes);
    decision.clearProblem(changed);
  };
  return { draft, onChange, onEnter: confirm, problems: decision.problems, disabled: isLocked };
}

/** Tell a deputy for whom they decide. */
function DeputyNote({ absence: { person, until } }: { absence: Absence }) {
  const { away, language } = useRequestStrings();
  return <p className="quiet" data-testid="stands-in">{away.standsIn(visible(person), clock(until, language))}</p>;
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
