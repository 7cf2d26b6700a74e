import type { Decision } from "../api/types";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { useKeys, type Shortcut } from "../base/keys";
import type { ClaimState } from "./assignment";
import { useBeatOf, type Beat } from "./beat";
import { buttonLabel, decideKeys, editableValues, hasButton, isFreeAnswer, takesMessageAsAnswer } from "./decisions";
import { isChanged, lacksMessage } from "./draft";
import type { DecisionFormState } from "./use-decision-form";
import { needsVotes } from "./voting";
import { sessionKey } from "./session-grant";
import { agreeKey } from "./votes";

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
export function useRequestKeys(form: DecisionFormState, claim: ClaimState, { isActive, focusFirst, leaveText }: KeysOptions): void {
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
