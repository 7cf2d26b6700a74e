import { useRef, useState } from "react";
import { isStatus, type FieldFault, type FieldProblem, type Winner } from "../api/call";
import { useRespond } from "../api/requests";
import type { Answer, Decision, Request } from "../api/types";
import { renderedFields } from "../form/schema-field";
import { fieldText } from "../strings/catalogue";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { useBeat } from "./beat";
import { useCheckMessage } from "./use-check-message";
import { answerFor, findLocalProblems, type Draft } from "./draft";

/** Translate the server's field errors and map `data.NAME` to the rendered field NAME. */
function atFields(request: Request, faults: FieldFault[], strings: RequestStrings): FieldProblem[] {
  const names = request.form ? [] : renderedFields(request).map((field) => `data.${field.name}`);
  const isDrawn = (field: string) => names.some((name) => field === name || field.startsWith(`${name}.`));
  const nameOf = (field: string) => (isDrawn(field) ? field.slice("data.".length) : field);
  return faults.map((fault) => ({ field: nameOf(fault.field), message: fieldText(fault, strings) }));
}

export interface DecisionState {
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
export function useSubmitDecision(request: Request, draft: Draft, onDecided: (completed: Request) => void): DecisionState {
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
