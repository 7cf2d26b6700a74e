import { useRequest } from "../api/requests";
import type { Json } from "../api/types";
import { Question } from "../chat/question";
import { isEqual } from "../api/json";
import { useStrings } from "../strings";
import type { Plan } from "./types";
import { inLanguage } from "./value";

/** Tell whether a request's arguments equal the plan, and the card shows all of it. */
function isSame({ plan, steps }: Plan, { plan: requestedPlan, steps: requestedSteps, ...more }: { plan?: Json; steps?: Json }, language: string): boolean {
  const planSteps = steps.map(({ id, title, action, args }) => ({ id, title, action, args }));
  return isEqual(requestedPlan, plan) && isEqual(requestedSteps, planSteps) && Object.keys(more).length === 0 && isEqual(inLanguage(plan, language), plan);
}

interface ApprovalProps {
  plan: Plan;
  id: string;
  edits: boolean;
  onDecided: () => void;
}

/** The approval request of a plan. Its arguments are folded if the card above shows the same content. */
export function Approval({ plan, id, edits, onDecided }: ApprovalProps) {
  const { language } = useStrings();
  const { data } = useRequest(id);
  const folds = data?.action ? isSame(plan, data.action.args, language) : false;
  return <Question id={id} initialDecision={edits ? "edit" : undefined} collapsesFacts={folds} onDecided={onDecided} />;
}
