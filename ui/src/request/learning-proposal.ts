import type { AnswerFeedback, Evidence, LearningContext, PlaybookOperation, SimilarBullet } from "../api/schema";
import { type Json, type JsonObject, type Request, isObject } from "../api/types";

/** The results of test questions without and with a proposal. */
export interface Trial {
  cases: number;
  rightBefore: number;
  rightAfter: number;
  wins: string[];
  losses: string[];
  failed: string | null;
}

/** The part of a proposal that the page shows. */
export type ProposalContext = Omit<LearningContext, "insight" | "evidence" | "trial"> & { evidence: Pick<Evidence, "where" | "ref" | "quote">[]; trial: Trial | null };

const text = (value: Json | undefined) => (typeof value === "string" ? value : "");
const textOrNull = (value: Json | undefined) => (typeof value === "string" ? value : null);
const number = (value: Json | undefined) => (typeof value === "number" ? value : 0);
const texts = (value: Json | undefined) => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);
const objects = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isObject) : []);

function feedbackOf(value: Json | undefined): AnswerFeedback {
  const { source, verdict, text: comment, by } = isObject(value) ? value : {};
  // An unknown source counts as the least trusted one.
  const trusted = source === "ground_truth" || source === "environment" || source === "user" ? source : "self";
  return { source: trusted, verdict: verdict === "right" || verdict === "wrong" ? verdict : "unknown", text: text(comment), by: textOrNull(by) };
}

function trialOf(value: Json | undefined): Trial | null {
  if (!isObject(value)) return null;
  const { cases, right_before: before, right_after: after, wins, losses, failed } = value;
  return { cases: number(cases), rightBefore: number(before), rightAfter: number(after), wins: texts(wins), losses: texts(losses), failed: textOrNull(failed) };
}

function contextOf(context: JsonObject): ProposalContext {
  const evidence = objects(context.evidence).map(({ where, ref, quote }) => (
    { where: text(where) as ProposalContext["evidence"][number]["where"], ref: textOrNull(ref), quote: text(quote) }));
  const similar = objects(context.similar).map(({ bullet, text: bulletText, score, flags }) => (
    { bullet: text(bullet), text: text(bulletText), score: number(score), flags: texts(flags) as SimilarBullet["flags"] }));
  return {
    type: text(context.type) as ProposalContext["type"], why: text(context.why), source_bullet_id: textOrNull(context.source_bullet_id), evidence, similar,
    feedback: feedbackOf(context.feedback), tokens: number(context.tokens), room: number(context.room), before: textOrNull(context.before),
    playbook: text(context.playbook), version: number(context.version), renewed: textOrNull(context.renewed), question: text(context.question),
    answer: text(context.answer), thread_id: text(context.thread_id), run_id: text(context.run_id), trial: trialOf(context.trial),
  };
}

export interface LearningProposal {
  context: ProposalContext;
  operation: Pick<PlaybookOperation, "op" | "section" | "text" | "applies_when" | "bullet" | "sources">;
  /** The text, the section and the scope that are learned, including a person's changes. */
  result: Pick<PlaybookOperation, "section" | "text" | "applies_when">;
}

/** Return the learning proposal of a request; undefined for other requests and unknown formats. */
export function learningProposalOf({ kind, action, context, response }: Request): LearningProposal | undefined {
  if (kind !== "learning" || action?.name !== "learn" || !isObject(context.learning)) return undefined;
  const { op, section, text: proposedText, applies_when: scope, bullet, sources } = action.args;
  if (typeof op !== "string" || typeof proposedText !== "string") return undefined;
  const target = { bullet: textOrNull(bullet), sources: texts(sources) };
  const operation = { op: op as PlaybookOperation["op"], section: text(section), text: proposedText, applies_when: text(scope), ...target };
  const edited = response?.args;
  const result = {
    text: textOrNull(edited?.text) ?? proposedText, section: textOrNull(edited?.section) ?? operation.section,
    applies_when: textOrNull(edited?.applies_when) ?? operation.applies_when,
  };
  return { context: contextOf(context.learning), operation, result };
}
