import { useRef, useState } from "react";
import { isStatus, type FieldProblem, type Winner } from "../api/call";
import { useRespond } from "../api/requests";
import type { Decision, Request } from "../api/types";
import { answerFor, localProblems, type Draft } from "./draft";
import { fieldWords } from "./field-words";
import { drawnFields } from "./schema-field";
import { useWords, type Words } from "./words";

/** The server's field errors in this person's language, at the fields as they are drawn: it names what a schema checks `data.NAME`; drawn as a form, its fields are called NAME. */
function placed(request: Request, problems: FieldProblem[], strings: Words): FieldProblem[] {
  const names = request.form ? [] : drawnFields(request).map((field) => `data.${field.name}`);
  const isDrawn = (field: string) => names.some((name) => field === name || field.startsWith(`${name}.`));
  const nameOf = (field: string) => (isDrawn(field) ? field.slice("data.".length) : field);
  return problems.map(({ field, message }) => ({ field: nameOf(field), message: fieldWords(message, strings) }));
}

export interface DecisionState {
  decide: (decision: Decision) => void;
  sending: Decision | null;
  problems: FieldProblem[];
  refusals: number;
  mended: (key: string) => void;
  error: Error | null;
  /** Send the same once more, after it failed. */
  retry: (() => void) | null;
  winner: Winner | null;
}

/** Send a decision and tell what became of it; nothing counts as decided before the server says so. */
export function useDecision(request: Request, draft: Draft, onDecided: (completed: Request) => void): DecisionState {
  const strings = useWords();
  const respond = useRespond(request);
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [refusals, setRefusals] = useState(0);
  const [failedVersion, setFailedVersion] = useState(0);
  const refuse = (found: FieldProblem[]) => {
    setProblems(found);
    setRefusals((old) => old + 1);
  };

  // A second key press comes before the page is drawn again: it must not send a second, different answer.
  const underway = useRef(false);
  const decide = (decision: Decision) => {
    if (underway.current) return;
    const local = localProblems(request, draft, decision, strings);
    if (local.length > 0) {
      respond.reset();
      return refuse(local);
    }
    setProblems([]);
    underway.current = true;
    respond.mutate(answerFor(request, draft, decision), {
      onSettled: () => {
        underway.current = false;
      },
      onSuccess: onDecided,
      onError: (error) => {
        setFailedVersion(request.version);
        if (isStatus(error, 422)) refuse(placed(request, error.errors, strings));
      },
    });
  };
  const { error, variables } = respond;
  // What was refused because of a claim is no longer so once the claim has changed.
  const isCurrent = failedVersion === request.version && !(isStatus(error, 422) && error.errors.length > 0);
  return {
    decide,
    sending: respond.isPending ? respond.variables.decision : null,
    problems,
    refusals,
    mended: (key) => setProblems((old) => old.filter(({ field }) => field !== key && !field.startsWith(`${key}.`))),
    error: isCurrent ? error : null,
    retry: variables ? () => decide(variables.decision) : null,
    winner: isStatus(error, 409) ? (error.winner ?? null) : null,
  };
}
