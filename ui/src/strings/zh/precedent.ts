import type { PrecedentStrings } from "../en/precedent";

const outcomes: PrecedentStrings["outcomes"] = { approved: "批准", edited: "修改", rejected: "拒绝", expired: "过期" };

export const precedent: PrecedentStrings = {
  outcomes,
  title: "此工具以前的调用",
  counts: (counts, isPartial) => {
    const parts = (["approved", "edited", "rejected", "expired"] as const).flatMap((outcome) => (counts[outcome] ? [`${outcomes[outcome]} ${counts[outcome]}`] : []));
    return parts.length > 0 ? `30 天${isPartial ? "（最新 500 个）" : ""}：${parts.join(" · ")}` : "30 天：没有人对此工具的调用做过决定。";
  },
  by: (outcome, who) => (who ? `${who} ${outcomes[outcome]}` : outcomes[outcome]),
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
