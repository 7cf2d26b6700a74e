import type { Json, JsonObject, Request } from "../api/types";
import { isObject } from "../request/schema-field";
import type { Feedback, Like, Operation, ProposalContext, Trial } from "./types";

const text = (value: Json | undefined) => (typeof value === "string" ? value : "");
const textOrNull = (value: Json | undefined) => (typeof value === "string" ? value : null);
const number = (value: Json | undefined) => (typeof value === "number" ? value : 0);
const texts = (value: Json | undefined) => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);
const objects = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isObject) : []);

function feedbackOf(value: Json | undefined): Feedback {
  const { source, verdict, text: words, by } = isObject(value) ? value : {};
  // What does not say where it comes from counts as what is trusted least.
  const known = source === "ground_truth" || source === "environment" || source === "user" ? source : "self";
  return { source: known, verdict: verdict === "right" || verdict === "wrong" ? verdict : "unknown", text: text(words), by: textOrNull(by) };
}

function trialOf(value: Json | undefined): Trial | null {
  if (!isObject(value)) return null;
  const { cases, right_before: before, right_after: after, wins, losses, failed } = value;
  return { cases: number(cases), rightBefore: number(before), rightAfter: number(after), wins: texts(wins), losses: texts(losses), failed: textOrNull(failed) };
}

function shownOf(context: JsonObject): ProposalContext {
  const evidence = objects(context.evidence).map(({ where, ref, quote }) => (
    { where: text(where) as ProposalContext["evidence"][number]["where"], ref: textOrNull(ref), quote: text(quote) }));
  const similar = objects(context.similar).map(({ bullet, text: words, score, flags }) => (
    { bullet: text(bullet), text: text(words), score: number(score), flags: texts(flags) as Like["flags"] }));
  return {
    type: text(context.type) as ProposalContext["type"], why: text(context.why), source_bullet_id: textOrNull(context.source_bullet_id), evidence, similar,
    feedback: feedbackOf(context.feedback), tokens: number(context.tokens), room: number(context.room), before: textOrNull(context.before),
    playbook: text(context.playbook), version: number(context.version), renewed: textOrNull(context.renewed), question: text(context.question),
    answer: text(context.answer), thread_id: text(context.thread_id), run_id: text(context.run_id), trial: trialOf(context.trial),
  };
}

export interface Asked {
  shown: ProposalContext;
  operation: Pick<Operation, "op" | "section" | "text" | "bullet" | "sources">;
  /** The text and the section as they were learned, or will be: a person may have changed what was proposed. */
  learned: Pick<Operation, "section" | "text">;
}

/** What a request asks to learn; undefined where it asks something else, or in a way that this page does not know. */
export function askedBy({ kind, action, context, response }: Request): Asked | undefined {
  if (kind !== "learning" || action?.name !== "learn" || !isObject(context.learning)) return undefined;
  const { op, section, text: words, bullet, sources } = action.args;
  if (typeof op !== "string" || typeof words !== "string") return undefined;
  const operation = { op: op as Operation["op"], section: text(section), text: words, bullet: textOrNull(bullet), sources: texts(sources) };
  const learned = { text: textOrNull(response?.args?.text) ?? words, section: textOrNull(response?.args?.section) ?? operation.section };
  return { shown: shownOf(context.learning), operation, learned };
}
