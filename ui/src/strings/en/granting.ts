import type { Freedom } from "../../api/types";

const freedoms: Record<Freedom, string> = { same: "the same", "at-most": "at most", any: "any" };

function hours(count: number): string {
  if (count < 24) return count === 1 ? "1 hour" : `${count} hours`;
  return count === 24 ? "1 day" : `${count / 24} days`;
}

/** The strings of approvals for later calls. */
export const granting = {
  open: "Approve later calls too…",
  title: (tool: string) => `Approve this, and later calls of ${tool} with:`,
  openForSession: "Allow for this session…",
  sessionTitle: (tool: string, client: string) => `Approve this, and for the rest of this ${client} session calls of ${tool} with:`,
  words: (time: string, uses: number) => `For ${time}, at most ${uses} later calls are approved without asking:`,
  anyValue: (name: string) => `${name}: any`,
  anyIdentifier: (name: string, shape: string) => `${name}: ${shape}, with any number`,
  inSession: "only in this session",
  hint: "Nobody is asked about these calls. Everything else is still asked, and you can revoke this at any time.",
  freedoms, hours,
  onlyThread: "only in this conversation",
  onlyFolder: "only in the folder",
  until: "for",
  maxUses: "calls at most",
  confirm: "Approve these calls",
  used: (number: number) => `approved in advance, call ${number}:`,
  usedLink: "the approval",
  made: (tool: string, uses: number, until: string) => `Later calls of ${tool} are approved too: at most ${uses}, until ${until}.`,
  next: "Next grant",
  previous: "Previous grant",
  grants: "Grants",
  pageHint: "Calls that somebody approved in advance: agents make them without asking, until the end, the last call or a revocation.",
  none: "Nothing is approved in advance.",
  noneHint: "When you approve a call, you can approve later calls like it too.",
  revoke: "Revoke",
  revoked: "Revoked: people are asked again.",
  sameArguments: "exactly the same arguments",
  anyArguments: "any arguments",
  by: (name: string, at: string) => `by ${name}, ${at}`,
  uses: (uses: number, most: number) => `${uses} of ${most} calls`,
  ends: (at: string) => `until ${at}`,
  inThread: "only in its conversation",
  inThatSession: "only in the session",
  inFolder: (folder: string) => `only in ${folder}`,
  stillAsks: (count: number) => `1 in ${count} of these calls still asks`,
  refuted: "Ended: somebody refused a call that it covers.",
  endedRules: "This answer has ended a rule that would have approved the call.",
  suggestions: {
    heading: "Suggested rules",
    hint: "People have approved nearly all calls like these. A rule would approve them without asking.",
    approved: (count: number, of: number) => `${count} of ${of} decisions were approvals`,
    covered: (count: number, of: number) => `Tried on the last ${of} requests: it would have approved ${count}, and none that people refused, edited or left unanswered.`,
    newer: (count: number, of: number) => `Made from the older half alone, it would have approved ${count} of the ${of} later approvals.`,
    terms: "It applies for 30 days and at most 1,000 calls. 1 in 20 still asks, and the first refusal ends it.",
    example: "The newest such request",
    confirm: (tool: string) => `Approve such calls of ${tool} without asking?`,
    accept: "Switch on",
    cancel: "Cancel",
  },
  checks: {
    heading: "Checks of attention",
    hint: "Requests that can never run, planted to measure whether people notice what is wrong.",
    tool: "Tool",
    person: "Person",
    newest: "Noticed of the last 20",
    total: "Noticed in all",
    share: (count: number, of: number) => `${count} of ${of}`,
    alarm: (names: string) => `Below 80 % of the last 20: ${names}`,
    low: "below 80 %",
    comma: ", ",
    unanswered: (count: number) => (count === 1 ? "1 check waits for an answer." : `${count} checks wait for an answer.`),
  },
  statuses: { active: "in force", revoked: "revoked", "used up": "used up", ended: "ended" },
};

export type Granting = typeof granting;
