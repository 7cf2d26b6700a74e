import { useRef, useState } from "react";
import { usePerson } from "../api/absences";
import { isStatus, type FieldFault, type FieldProblem, type Winner } from "../api/call";
import { useRespond } from "../api/requests";
import type { Request, Answer, Decision, Absence, Vote } from "../api/types";
import { visible } from "../base/visible";
import { renderedFields } from "../form/schema-field";
import { fieldText } from "../strings/catalogue";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { useMessages } from "../widgets/messages";
import { clock } from "../widgets/time";
import { decisionRefusal, useClaimant, authorityOf, exclusionOf, needsVotes, proposedEdit, stageNotice } from "./assignment";
import { useBeat } from "./beat";
import { clientOf } from "./client-call";
import { editableValues, isFollowUpAllowed, offeredDecisions } from "./decisions";
import { answerFor, findLocalProblems, type Draft, isChanged, type Mode, useDraft, useOwner } from "./draft";
import { isConfirmed, useFact, type FactState } from "./fact-question";
import { initialGrant, isComplete, isGrantable, sessionGrant } from "./granting";
import { heldNotice } from "./held-answer";

const seconds = 12;

/** Return a function that says that an answered request was a check: the page has moved on to the next one. */
function useCheckMessage(): (completed: Request) => void {
  const { voting: { check } } = useRequestStrings();
  const messages = useMessages();
  return ({ check_result: result }) => {
    if (!result) return;
    const [type, text] = result.caught ? (["success", check.caught] as const) : (["warning", check.missed] as const);
    void messages.open({ type, content: `${text} ${visible(check.because(result.because))}`, duration: seconds });
  };
}

/** Translate the server's field errors and map `data.NAME` to the rendered field NAME. */
function atFields(request: Request, faults: FieldFault[], strings: RequestStrings): FieldProblem[] {
  const names = request.form ? [] : renderedFields(request).map((field) => `data.${field.name}`);
  const isDrawn = (field: string) => names.some((name) => field === name || field.startsWith(`${name}.`));
  const nameOf = (field: string) => (isDrawn(field) ? field.slice("data.".length) : field);
  return faults.map((fault) => ({ field: nameOf(fault.field), message: fieldText(fault, strings) }));
}

interface DecisionState {
  submit: (decision: Decision) => void;
  /** Send an answer that does not come from the draft. */
  send: (answer: Answer) => void;
  sending: Decision | null;
  problems: FieldProblem[];
  refusals: number;
  clearProblem: (key: string) => void;
  error: Error | null;
  /** Send the same decision again after a failure. */
  retry: (() => void) | null;
  winner: Winner | null;
}

/** Send a decision and report its result. Nothing counts as decided before the server confirms it. */
function useSubmitDecision(request: Request, draft: Draft, onDecided: (completed: Request) => void): DecisionState {
  const strings = useRequestStrings();
  const respond = useRespond(request);
  const beat = useBeat();
  const announceCheck = useCheckMessage();
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [refusals, setRefusals] = useState(0);
  const [failedVersion, setFailedVersion] = useState(0);
  const refuse = (found: FieldProblem[]) => {
    setProblems(found);
    setRefusals((old) => old + 1);
  };

  // A second key press may come before the next render; it must not send a second, different answer.
  const isSending = useRef(false);
  const submit = (decision: Decision) => {
    if (isSending.current) return;
    const local = findLocalProblems(request, draft, decision, strings);
    if (local.length > 0) {
      respond.reset();
      return refuse(local);
    }
    send(answerFor(request, draft, decision));
  };
  const send = (answer: Answer) => {
    if (isSending.current) return;
    setProblems([]);
    isSending.current = true;
    respond.mutate(answer, {
      onSettled: () => {
        isSending.current = false;
      },
      onSuccess: (completed) => {
        beat.record(request, answer.decision);
        announceCheck(completed);
        onDecided(completed);
      },
      onError: (error) => {
        setFailedVersion(request.version);
        if (isStatus(error, 422)) refuse(atFields(request, error.errors, strings));
      },
    });
  };
  const { error, variables } = respond;
  // A refusal because of a claim is out of date once the claim has changed.
  const isCurrent = failedVersion === request.version && !(isStatus(error, 422) && error.errors.length > 0);
  return {
    submit,
    send,
    sending: respond.isPending ? respond.variables.decision : null,
    problems,
    refusals,
    clearProblem: (key) => setProblems((old) => old.filter(({ field }) => field !== key && !field.startsWith(`${key}.`))),
    error: isCurrent ? error : null,
    retry: variables ? () => send(variables) : null,
    winner: isStatus(error, 409) ? (error.winner ?? null) : null,
  };
}

/** The state of an open request's form, and all actions on it. */
export interface DecisionFormState {
  request: Request;
  draft: Draft;
  change: (change: Partial<Draft>) => void;
  decision: DecisionState;
  /** The request ended, or somebody else answered first. */
  isClosed: boolean;
  /** True while the form is read-only: the request is closed, or an answer is being sent. */
  isLocked: boolean;
  /** The reason if this person cannot decide now; null if they can. */
  blockedReason: string | null;
  /** The decisions that this person can make now. */
  offered: Decision[];
  /** Why this person cannot agree now; null if they can. */
  stageNotice: string | null;
  /** The absence because of which this person decides for somebody else; null if they decide for themselves. */
  standsIn: Absence | null;
  /** True if a rule of the request excludes this person. */
  isExcluded: boolean;
  /** True if this person is an administrator who can decide alone. */
  canOverride: boolean;
  /** True if this person can approve later calls too. */
  canGrant: boolean;
  /** True if these can be the calls of the rest of a client's session. */
  canGrantForSession: boolean;
  /** Open the step that approves later calls too. */
  startGrant: (isForSession: boolean) => void;
  /** The edit of an earlier voter that this person can approve too. */
  proposal: Vote | undefined;
  /** Agree with this edit. */
  agree: () => void;
  /** Decide alone, as an administrator. */
  override: (decision: Decision) => void;
  /** The decision that is sent when its step is confirmed. */
  pendingDecision: Decision;
  /** The question of fact before a call that cannot be undone. */
  question: FactState;
  /** True if the open step is complete. */
  isReady: boolean;
  start: (decision: Decision) => void;
  back: () => void;
  confirm: () => void;
}

function useBlockedReason(request: Request): string | null {
  const strings = useRequestStrings();
  const person = usePerson();
  const claimant = useClaimant(request);
  const refusal = decisionRefusal(request, person, strings) ?? heldNotice(request, strings);
  if (refusal || !claimant || claimant.isMe) return refusal;
  return strings.otherClaimNotice(visible(claimant.name), claimant.until && clock(claimant.until, strings.language));
}

function canConfirm(request: Request, draft: Draft, isAnswered: boolean): boolean {
  if (draft.mode === "editing") return isAnswered && isChanged(request, draft);
  if (draft.mode === "granting") return isComplete(draft.grant ?? initialGrant(request));
  if (draft.mode === "overriding" || draft.mode === "asking") return ((draft.mode === "asking" ? draft.message : draft.override) ?? "").trim() !== "";
  return draft.mode !== "confirming" || isAnswered;
}

const decisionOf: Partial<Record<Mode, Decision>> = { editing: "edit", rejecting: "reject", asking: "respond", granting: "approve" };

/** Return what the rules of several deciders leave to this person. */
function useVotingRules(request: Request) {
  const strings = useRequestStrings();
  const person = usePerson();
  const notice = stageNotice(request, person, strings);
  const isExcluded = Boolean(person && exclusionOf(request, person.name));
  const standsIn = (person && !isExcluded && authorityOf(request, person, request.missing?.[0])?.absence) || null;
  const offered = offeredDecisions(request).filter((decision) => !notice || (decision !== "approve" && decision !== "edit"));
  const isAdmin = person?.role === "admin" && request.status === "pending" && !request.held;
  const proposal = person && offered.includes("edit") ? proposedEdit(request, person.name) : undefined;
  return { stageNotice: notice, isExcluded, standsIn, offered, proposal, canOverride: isAdmin && (isExcluded || needsVotes(request)) };
}

/** Return the step that a decision opens before it is sent; null if it is sent at once. */
function stepBefore(request: Request, decision: Decision): Mode | null {
  if (decision === "reject") return "rejecting";
  if (decision === "respond") return isFollowUpAllowed(request) ? "asking" : null;
  if (decision === "edit" && editableValues(request)) return "editing";
  return isConfirmed(request) && (decision === "approve" || decision === "edit") ? "confirming" : null;
}

export function useDecisionForm(request: Request, onDecided: (completed: Request) => void): DecisionFormState {
  const [draft, change] = useDraft(request, useOwner());
  const decision = useSubmitDecision(request, draft, onDecided);
  const blockedReason = useBlockedReason(request);
  const rules = useVotingRules(request);
  const [pendingDecision, setPendingDecision] = useState<Decision>("approve");
  const isClosed = decision.sending === null && (request.status !== "pending" || decision.winner !== null);
  const isLocked = isClosed || decision.sending !== null;
  const question = useFact(request, draft.mode === "editing" ? draft.edited : (request.action?.args ?? {}));
  const canGrant = isGrantable(request) && rules.offered.includes("approve");
  const canGrantForSession = canGrant && request.thread_id !== null && clientOf(request) !== undefined;
  const isReady = canConfirm(request, draft, question.fact === null || question.chosen !== null);
  const start = (selected: Decision) => {
    if (isLocked || blockedReason || !rules.offered.includes(selected)) return;
    const step = stepBefore(request, selected);
    if (!step) return decision.submit(selected);
    setPendingDecision(selected);
    question.clear();
    change({ mode: step });
  };
  const startGrant = (isForSession: boolean) => {
    if (isLocked || blockedReason || !(isForSession ? canGrantForSession : canGrant)) return;
    const isSame = draft.grant && Boolean(draft.grant.isForSession) === isForSession;
    change({ mode: "granting", ...(!isSame && { grant: isForSession ? sessionGrant(request) : initialGrant(request) }) });
  };
  const back = () => decision.sending === null && change({ mode: "deciding" });
  const confirm = () => {
    if (draft.mode === "overriding") return override("approve");
    const sent = decisionOf[draft.mode] ?? pendingDecision;
    if (isLocked || blockedReason || !isReady) return;
    // Only what lets a call run asks for more work.
    if ((sent !== "approve" && sent !== "edit") || question.check()) decision.submit(sent);
  };
  const agree = () => {
    if (isLocked || blockedReason || !rules.proposal) return;
    const { args: changed, data } = rules.proposal;
    // A costly edit is confirmed as one's own.
    if (isConfirmed(request)) return change({ mode: "editing", edited: changed ?? data ?? {} });
    decision.send({ decision: "edit", ...(changed && { args: changed }), ...(data && { data }) });
  };
  const override = (selected: Decision) => {
    if (!isLocked && rules.canOverride && isReady) decision.submit(selected);
  };
  return {
    ...rules, canGrant, canGrantForSession, startGrant, agree, override,
    request, draft, change, decision, isClosed, isLocked, blockedReason, pendingDecision, question, isReady, start, back, confirm,
  };
}
