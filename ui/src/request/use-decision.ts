import { useState } from "react";
import { isStatus, type FieldProblem, type Winner } from "../api/call";
import { useRespond } from "../api/requests";
import type { Decision, Request } from "../api/types";
import { useStrings } from "../strings";
import { answerFor, localProblems, type Draft } from "./draft";

export interface DecisionState {
  decide: (decision: Decision) => void;
  sending: Decision | null;
  decided: boolean;
  problems: FieldProblem[];
  refusals: number;
  mended: (key: string) => void;
  error: Error | null;
  winner: Winner | null;
}

/** Send a decision and tell what became of it; nothing counts as decided before the server says so. */
export function useDecision(request: Request, draft: Draft, onDecided: (completed: Request) => void): DecisionState {
  const strings = useStrings();
  const respond = useRespond(request);
  const [problems, setProblems] = useState<FieldProblem[]>([]);

  const [refusals, setRefusals] = useState(0);
  const refuse = (found: FieldProblem[]) => {
    setProblems(found);
    setRefusals((old) => old + 1);
  };

  const decide = (decision: Decision) => {
    // A second click must not send a second, different answer while the first is on its way.
    if (respond.isPending) return;
    const local = localProblems(request, draft, decision, strings);
    if (local.length > 0) {
      respond.reset();
      return refuse(local);
    }
    setProblems([]);
    respond.mutate(answerFor(request, draft, decision), {
      onSuccess: onDecided,
      onError: (error) => isStatus(error, 422) && refuse(error.errors),
    });
  };
  const { error } = respond;
  return {
    decide,
    sending: respond.isPending ? respond.variables.decision : null,
    decided: respond.isSuccess,
    problems,
    refusals,
    mended: (key) => setProblems((old) => old.filter(({ field }) => field !== key && !field.startsWith(`${key}.`))),
    error: isStatus(error, 422) && error.errors.length > 0 ? null : error,
    winner: isStatus(error, 409) ? (error.winner ?? null) : null,
  };
}
