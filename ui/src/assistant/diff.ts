import type { Json } from "../api/types";
import { isEqual, isObject } from "../api/json";
import type { Plan, PlanContent, Step } from "./types";

/** A changed part of a plan; `before` or `after` is undefined if the part was added or removed. */
export interface Part {
  name: string;
  /** The display name; for a step its title. */
  title: string;
  before: Json | undefined;
  after: Json | undefined;
  isStep: boolean;
}

const stepJson = ({ title, action, args }: Step): Json => ({ title, ...(action && { action }), ...(Object.keys(args).length > 0 && { args }) });

/** Return the parts of a plan by their names in a diff. */
function partsOf({ plan, steps }: PlanContent): Map<string, Json> {
  const rest: [string, Json][] = isObject(plan) ? Object.entries(plan).map(([key, value]) => [`plan.${key}`, value])
    : plan === null ? [] : [["plan", plan]];
  return new Map([...rest, ...steps.map((step): [string, Json] => [step.id, stepJson(step)])]);
}

function titleIn(name: string, ...versions: PlanContent[]): string {
  const step = versions.flatMap(({ steps }) => steps).find(({ id }) => id === name);
  return step?.title ?? name.replace(/^plan\./, "");
}

const isStep = (name: string, ...versions: PlanContent[]) => versions.some(({ steps }) => steps.some(({ id }) => id === name));

/** Return a step's title if it has nothing else, otherwise the value unchanged. */
function stepValue(value: Json | undefined): Json | undefined {
  return isObject(value) && Object.keys(value).length === 1 && "title" in value ? value.title : value;
}

/** Return the parts that were added, removed or changed since the previous version. */
export function changesOf(before: PlanContent, after: PlanContent): Part[] {
  const [old, fresh] = [partsOf(before), partsOf(after)];
  const names = [...new Set([...fresh.keys(), ...old.keys()])].filter((name) => !isEqual(old.get(name), fresh.get(name)));
  return names.map((name) => {
    const title = titleIn(name, after, before);
    return { name, title, before: stepValue(old.get(name)), after: stepValue(fresh.get(name)), isStep: isStep(name, before, after) };
  });
}

/** Return all stored versions, oldest first. */
export const versionsOf = (plan: Plan): PlanContent[] => [...plan.versions, plan];
