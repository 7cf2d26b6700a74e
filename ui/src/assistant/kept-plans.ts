import { useState } from "react";
import type { Memory, Plan } from "./types";

function ended(plan: Plan): Plan {
  if (plan.status === "completed" || plan.status === "closed") return plan;
  return { ...plan, status: plan.steps.length > 0 && plan.steps.every(({ isDone }) => isDone) ? "completed" : "closed" };
}

/** The plans there are; one that leaves the memory when it is over stays where it was read. */
export function useKeptPlans(memory: Memory | undefined): Plan[] {
  const [kept, keep] = useState<Plan[]>([]);
  const plans = (memory?.plans ?? []).filter(({ status }) => status !== "none");
  const gone = kept.filter((one) => !plans.some(({ id }) => id === one.id)).map(ended);
  if (plans.some((plan) => !kept.includes(plan))) keep([...gone, ...plans]);
  return [...gone, ...plans];
}
