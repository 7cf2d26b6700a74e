import type { PrecedentCounts } from "../api/schema";

type Outcome = keyof PrecedentCounts;

const outcomes: Record<Outcome, string> = { approved: "approved", edited: "edited", rejected: "rejected", expired: "expired" };

/** The strings of how calls like this one were decided. */
export const en = {
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

const outcomesJa: typeof outcomes = { approved: "承認", edited: "修正", rejected: "却下", expired: "期限切れ" };

export const ja: typeof en = {
  outcomes: outcomesJa,
  title: "このツールの以前の呼び出し",
  counts: (counts, isPartial) => {
    const parts = (["approved", "edited", "rejected", "expired"] as const).flatMap((outcome) => (counts[outcome] ? [`${outcomesJa[outcome]} ${counts[outcome]} 件`] : []));
    return parts.length > 0 ? `30 日間${isPartial ? "（最新 500 件）" : ""}：${parts.join(" · ")}` : "30 日間：このツールの呼び出しは誰も判断していません。";
  },
  by: (outcome, who) => (who ? `${who} さんが${outcomesJa[outcome]}` : outcomesJa[outcome]),
  differs: "前回との違い：",
  more: (count) => `ほか ${count} 件`,
  same: "前回と同じ引数です",
  first: "30 日間で最初の、このツールの呼び出しです",
  undecided: "このツールの呼び出しは、30 日間に誰も判断していません。",
  noLast: "同じエージェント・同じ影響度の以前の呼び出しはありません。",
  noAmounts: "以前の金額や数量はありません。",
  failed: "以前の呼び出しを読み込めませんでした。",
  thisOne: "今回",
  table: "表",
  argument: "引数",
  before: "前回",
  now: "今回",
  amount: "金額・数量",
  outcome: "決定",
  when: "日時",
  plot: (count, from, to, own, below) => `以前の値 ${count} 件、${from} から ${to}。${own ? `今回は ${own} で、そのうち ${below} 件より大きい値です。` : ""}`,
};

const outcomesZh: typeof outcomes = { approved: "批准", edited: "修改", rejected: "拒绝", expired: "过期" };

export const zh: typeof en = {
  outcomes: outcomesZh,
  title: "此工具以前的调用",
  counts: (counts, isPartial) => {
    const parts = (["approved", "edited", "rejected", "expired"] as const).flatMap((outcome) => (counts[outcome] ? [`${outcomesZh[outcome]} ${counts[outcome]}`] : []));
    return parts.length > 0 ? `30 天${isPartial ? "（最新 500 个）" : ""}：${parts.join(" · ")}` : "30 天：没有人对此工具的调用做过决定。";
  },
  by: (outcome, who) => (who ? `${who} ${outcomesZh[outcome]}` : outcomesZh[outcome]),
  differs: "与上一个不同：",
  more: (count) => `另有 ${count} 项`,
  same: "与上一个的参数相同",
  first: "30 天内此工具的首次调用",
  undecided: "30 天内没有人对此工具的调用做过决定。",
  noLast: "此代理以前没有同等影响的调用。",
  noAmounts: "没有以前的数额。",
  failed: "无法加载以前的调用。",
  thisOne: "本次",
  table: "表格",
  argument: "参数",
  before: "上一个",
  now: "本次",
  amount: "数额",
  outcome: "决定",
  when: "时间",
  plot: (count, from, to, own, below) => `以前的数额 ${count} 个，从 ${from} 到 ${to}。${own ? `本次为 ${own}，大于其中 ${below} 个。` : ""}`,
};
