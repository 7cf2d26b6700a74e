import type { PrecedentCounts } from "../../api/schema";

type Outcome = keyof PrecedentCounts;

const outcomes: Record<Outcome, string> = { approved: "approved", edited: "edited", rejected: "rejected", expired: "expired" };

/** The strings of how calls like this one were decided. */
export const precedent = {
  outcomes,
  title: "Earlier calls of this tool",
  counts: (counts: PrecedentCounts, isPartial: boolean) => {
    const parts = (["approved", "edited", "rejected", "expired"] as const).flatMap((outcome) => (counts[outcome] ? [`${counts[outcome]} ${outcome}`] : []));
    return parts.length > 0 ? `30 days${isPartial ? ", the newest 500" : ""}: ${parts.join(" · ")}` : "30 days: people decided no call of this tool.";
  },
  by: (outcome: Outcome, who: string | null) => (who ? `${outcomes[outcome]} by ${who}` : outcomes[outcome]),
  differs: "Differs from the last one:",
  more: (count: number) => `${count} more`,
  same: "Same arguments as the last one",
  first: "First call of this tool in 30 days",
  undecided: "Nobody decided a call of this tool in the last 30 days.",
  noLast: "No earlier call of this tool by this agent with the same stakes.",
  noAmounts: "No earlier amounts.",
  failed: "The earlier calls could not be loaded.",
  thisOne: "this one",
  table: "Table",
  argument: "argument",
  before: "last one",
  now: "this one",
  amount: "amount",
  outcome: "decision",
  when: "when",
  plot: (count: number, from: string, to: string, own: string | null, below: number) =>
    `${count === 1 ? "1 earlier amount" : `${count} earlier amounts`}, from ${from} to ${to}.${own ? ` This one is ${own}, more than ${below} of them.` : ""}`,
};
export type PrecedentStrings = typeof precedent;
