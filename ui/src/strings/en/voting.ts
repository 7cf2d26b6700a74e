import type { Decision } from "../../api/types";

const agreed: Record<Decision, string> = { approve: "agreed", edit: "agreed with changes", reject: "rejected", respond: "answered" };
const own: Record<Decision, string> = {
  approve: "You agreed.", edit: "You agreed with changes.", reject: "You rejected this.", respond: "You answered.",
};
const heldByYou: Record<Decision, string> = {
  approve: "Approved by you.", edit: "Approved with changes by you.", reject: "Rejected by you.", respond: "Answered by you.",
};
const heldByOther: Record<Decision, (name: string, at: string) => string> = {
  approve: (name, at) => `${name} has just approved this; it takes effect at ${at}.`,
  edit: (name, at) => `${name} has just approved this with changes; it takes effect at ${at}.`,
  reject: (name, at) => `${name} has just rejected this; it takes effect at ${at}.`,
  respond: (name, at) => `${name} has just answered this; it takes effect at ${at}.`,
};

/** The strings of requests that several people decide, and of answers that can be undone. */
export const voting = {
  agreed, own, heldByYou, heldByOther,
  title: "Votes",
  needed: (stages: string[]) => `Still needed: ${stages.join(", then ")}`,
  votesOf: (count: number, groups: string | null) => (groups ? `${count} of ${groups}` : count === 1 ? "1 person" : `${count} people`),
  missing: (count: number) => (count === 1 ? "1 more vote is missing." : `${count} more votes are missing.`),
  agreeWithEdit: "Approve the edit",
  approveOriginal: "Approve the original",
  proposal: (name: string, edited: string, original: string) => `The edit by ${name} has ${edited}. The original has ${original}. Only votes for the same values count together.`,
  changeVote: "Change my vote",
  takesEffectIn: (seconds: number) => `Takes effect in ${seconds}\u00A0s`,
  takesEffect: "Taking effect…",
  announcement: (seconds: number) => `Takes effect in ${seconds} seconds. Press u to undo.`,
  undo: "Undo",
  undoKey: "Undo the answer",
  escalates: (names: string, at: string) => `goes to ${names} at ${at} if nobody decides`,
  escalated: (names: string) => `escalated to ${names}: nobody had answered`,
  voted: (what: string, person: string | null) => (person ? `voted: ${what} (for ${person})` : `voted: ${what}`),
  held: (what: string, person: string | null, at: string) => (person ? `${what} (for ${person}), takes effect at ${at}` : `${what}, takes effect at ${at}`),
  decidedFor: (what: string, person: string) => `${what} (for ${person})`,
  override: "Decide anyway…",
  overrideHint: "As an administrator you can decide this alone, even if a rule excludes you or votes are missing.",
  overrideReason: "Reason (required; it stays in the outcome and in the audit trail)",
  approveAnyway: "Approve anyway",
  rejectAnyway: "Reject anyway",
  check: {
    caught: "This was a check, and it was noticed.",
    missed: "This was a check, and it was missed.",
    unanswered: "This was a check. Nobody answered it.",
    because: (reason: string) => `What was wrong: ${reason}`,
    never: "It was planted to measure attention. Nothing ran.",
  },
  overridden: (reason: string) => `An administrator decided this alone: ${reason}`,
  tiers: { high: "High stakes", irreversible: "Cannot be undone" },
};
