import type { Json } from "../api/types";
import { isObject } from "../request/schema-field";
import { same } from "../request/values";
import type { Plan, PlanContent, Step } from "./types";

/** One part of a plan that is not as it was; a side that is undefined is not there. */
export interface Part {
  name: string;
  /** What to call it: a step by its title. */
  title: string;
  before: Json | undefined;
  after: Json | undefined;
  isStep: boolean;
}

const told = ({ title, action, args }: Step): Json => ({ title, ...(action && { action }), ...(Object.keys(args).length > 0 && { args }) });

/** What a plan is made of, by the names that its diff tells. */
function partsOf({ plan, steps }: PlanContent): Map<string, Json> {
  const rest: [string, Json][] = isObject(plan) ? Object.entries(plan).map(([key, value]) => [`plan.${key}`, value])
    : plan === null ? [] : [["plan", plan]];
  return new Map([...rest, ...steps.map((step): [string, Json] => [step.id, told(step)])]);
}

function titleIn(name: string, ...versions: PlanContent[]): string {
  const step = versions.flatMap(({ steps }) => steps).find(({ id }) => id === name);
  return step?.title ?? name.replace(/^plan\./, "");
}

const isStep = (name: string, ...versions: PlanContent[]) => versions.some(({ steps }) => steps.some(({ id }) => id === name));

/** A step changes by what is written of it: where only its title did, that is what is shown. */
function written(value: Json | undefined): Json | undefined {
  return isObject(value) && Object.keys(value).length === 1 && "title" in value ? value.title : value;
}

/** What of a plan is new, gone, or another than in the version before. */
export function changesOf(before: PlanContent, after: PlanContent): Part[] {
  const [old, fresh] = [partsOf(before), partsOf(after)];
  const names = [...new Set([...fresh.keys(), ...old.keys()])].filter((name) => !same(old.get(name), fresh.get(name)));
  return names.map((name) => {
    const title = titleIn(name, after, before);
    return { name, title, before: written(old.get(name)), after: written(fresh.get(name)), isStep: isStep(name, before, after) };
  });
}

/** All versions that are kept, oldest first, each with what is known of it. */
export const versionsOf = (plan: Plan): PlanContent[] => [...plan.versions, plan];
