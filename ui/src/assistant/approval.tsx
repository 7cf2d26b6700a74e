import { useRequest } from "../api/requests";
import type { Json } from "../api/types";
import { Question } from "../chat/question";
import { same } from "../request/values";
import type { Plan } from "./types";

/** Whether a request asks to carry out just what a plan says. */
function isSame({ plan, steps }: Plan, args: { plan?: Json; steps?: Json } | undefined): boolean {
  const said = steps.map(({ id, title, action, args: given }) => ({ id, title, action, args: given }));
  return args !== undefined && same(args.plan, plan) && same(args.steps, said);
}

interface ApprovalProps {
  plan: Plan;
  id: string;
  edits: boolean;
  onDecided: () => void;
}

/** The request to carry out a plan; its arguments are read in the plan above, as long as they are the same. */
export function Approval({ plan, id, edits, onDecided }: ApprovalProps) {
  const { data } = useRequest(id);
  return <Question id={id} begins={edits ? "edit" : undefined} foldsFacts={isSame(plan, data?.action?.args)} onDecided={onDecided} />;
}
