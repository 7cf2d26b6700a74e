import type { PrecedentStrings } from "../en/precedent";

const outcomes: PrecedentStrings["outcomes"] = { approved: "承認", edited: "修正", rejected: "却下", expired: "期限切れ" };

export const precedent: PrecedentStrings = {
  outcomes,
  title: "このツールの以前の呼び出し",
  counts: (counts, isPartial) => {
    const parts = (["approved", "edited", "rejected", "expired"] as const).flatMap((outcome) => (counts[outcome] ? [`${outcomes[outcome]} ${counts[outcome]} 件`] : []));
    return parts.length > 0 ? `30 日間${isPartial ? "（最新 500 件）" : ""}：${parts.join(" · ")}` : "30 日間：このツールの呼び出しは誰も判断していません。";
  },
  by: (outcome, who) => (who ? `${who} さんが${outcomes[outcome]}` : outcomes[outcome]),
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
