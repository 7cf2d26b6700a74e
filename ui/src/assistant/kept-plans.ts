import { useState } from "react";
import type { AssistantAction, Memory, Plan, Run } from "./types";

/** Whether what carries plans out has come to its end since a plan was last told of. */
function isCarriedOut({ updatedAt }: Plan, runs: Run[], actions: AssistantAction[]): boolean {
  const applies = actions.filter(({ type }) => type === "apply").map(({ workflowName }) => workflowName);
  return runs.some(({ workflow, status, at }) => applies.includes(workflow) && status === "completed" && Date.parse(at) >= Date.parse(updatedAt ?? at));
}

function ended(plan: Plan, runs: Run[], actions: AssistantAction[]): Plan {
  if (plan.status === "completed" || plan.status === "closed") return plan;
  if (!isCarriedOut(plan, runs, actions)) return { ...plan, status: "closed" };
  return { ...plan, status: "completed", steps: plan.steps.map((step) => ({ ...step, isDone: true })) };
}

/** The plans there are; one that leaves the memory when it is over stays where it was read. */
export function useKeptPlans(memory: Memory | undefined, actions: AssistantAction[]): Plan[] {
  const [kept, keep] = useState<Plan[]>([]);
  const plans = (memory?.plans ?? []).filter(({ status }) => status !== "none");
  const gone = kept.filter((one) => !plans.some(({ id }) => id === one.id)).map((one) => ended(one, memory?.runs ?? [], actions));
  if (plans.some((plan) => !kept.includes(plan)) || gone.some((plan) => !kept.includes(plan))) keep([...gone, ...plans]);
  return [...gone, ...plans];
}
