import type { Decision, RequestStatus } from "../../api/types";
import { withCodes } from "../../base/alphabets";

const decided: Record<Decision, string> = {
  approve: "approved", edit: "approved with changes", reject: "rejected", respond: "answered",
};
const decidedForm: Record<Decision, string> = {
  approve: "answered", edit: "changed and answered", reject: "declined", respond: "answered",
};
const decidedFinish: Record<Decision, string> = {
  approve: "completed", edit: "task changed", reject: "sent back", respond: "answered",
};
const statuses: Record<RequestStatus, string> = {
  pending: "pending", completed: "completed", cancelled: "cancelled", expired: "expired",
};
const joined = (...parts: (string | null)[]) => parts.filter(Boolean).join(", ");

/** The strings of requests in lists; `detail.ts` has those of the page of one request. */
export const request = {
  decided, decidedForm, decidedFinish, statuses,
  kinds: {
    approval: "Approval", form: "Form", choice: "Choice", question: "Question", finish: "Finish task?", learning: "Lesson",
  },
  thread: "thread",
  agentNamed: (name: string) => (name.toLowerCase() === "agent" ? name : `agent ${name}`),
  ruleNamed: (name: string) => `rule ${name}`,
  ruleNumbered: (number: number) => `rule ${number} of the policy`,
  ruleDefault: "the default of the policy",
  earlierApproval: "an earlier approval",
  system: "Ringi",
  erasedPerson: "an erased person",
  erasedTitle: "Erased request",
  assignedTo: (names: string) => `for ${names}`,
  groupNamed: (name: string) => `group ${name}`,
  assignedToOthers: (names: string) => `This is ${names}: you can read it, they decide.`,
  agentsCannotDecide: "You are signed in as an agent. Only people decide.",
  auditorsCannotDecide: "You are signed in as an auditor. Auditors read and decide nothing.",
  listed: (names: string[]) => new Intl.ListFormat("en").format(names),
  anyOf: (names: string[]) => new Intl.ListFormat("en", { type: "disjunction" }).format(names),
  deputy: (name: string, person: string) => `${name} for ${person}`,
  excluded: {
    starter: "You started this run; another person must decide.",
    asker: "You asked for this; another person must decide.",
    deputy: "The person for whom you stand asked for this or started it; another person must decide.",
  },
  votesFirst: (names: string) => `First ${names} must vote, then you.`,
  votesNow: (names: string) => `Only ${names} can agree to this now.`,
  ownVote: "you voted",
  heldVote: "takes effect shortly",
  claimedBy: (name: string) => `claimed by ${name}`,
  requiredField: "Please fill this in.",
  hiddenCharacters: "With its invisible characters:",
  mixedAlphabets: (letters: readonly string[]) => `Look-alike letters of another alphabet: ${withCodes(letters)}`,
  outcomeText: (what: string, who: string | null, when: string | null) => joined(who ? `${what} by ${who}` : what, when),
  decisionSaved: (what: string, title: string) => `${what}: ${title}`,
  expiredUnanswered: "expired: nobody answered in time",
  cancelledBecause: (reason: string) => `cancelled: ${reason}`,
  superseded: "replaced by a newer question",
};
