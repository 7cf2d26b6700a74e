import type { Freedom } from "../../request/granting";

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
  statuses: { active: "in force", revoked: "revoked", "used up": "used up", ended: "ended" },
};

export type Granting = typeof granting;
