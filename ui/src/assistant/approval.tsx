import { useRequest } from "../api/requests";
import type { Json } from "../api/types";
import { Question } from "../chat/question";
import { same } from "../request/values";
import { useStrings } from "../strings";
import type { Plan } from "./types";
import { inLanguage } from "./value";

/** Whether a request asks to carry out just what a plan says, and nothing of that is left out where the plan is shown. */
function isSame({ plan, steps }: Plan, { plan: asked, steps: askedSteps, ...more }: { plan?: Json; steps?: Json }, language: string): boolean {
  const said = steps.map(({ id, title, action, args }) => ({ id, title, action, args }));
  return same(asked, plan) && same(askedSteps, said) && Object.keys(more).length === 0 && same(inLanguage(plan, language), plan);
}

interface ApprovalProps {
  plan: Plan;
  id: string;
  edits: boolean;
  onDecided: () => void;
}

/** The request to carry out a plan; its arguments are read in the plan above, as long as they are the same. */
export function Approval({ plan, id, edits, onDecided }: ApprovalProps) {
  const { language } = useStrings();
  const { data } = useRequest(id);
  const folds = data?.action ? isSame(plan, data.action.args, language) : false;
  return <Question id={id} begins={edits ? "edit" : undefined} foldsFacts={folds} onDecided={onDecided} />;
}
