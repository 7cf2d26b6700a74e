import type { Voting } from "../en/detail";

/** Return the name with "for" in Japanese. */
const behalf = (person: string) => `${person} さんの代理`;

export const voting: Voting = {
  agreed: { approve: "賛成", edit: "修正して賛成", reject: "却下", respond: "回答" },
  own: { approve: "賛成しました。", edit: "修正して賛成しました。", reject: "却下しました。", respond: "回答しました。" },
  heldByYou: { approve: "承認しました。", edit: "修正して承認しました。", reject: "却下しました。", respond: "回答しました。" },
  heldByOther: {
    approve: (name, at) => `${name} さんが承認したばかりです。${at} に確定します。`,
    edit: (name, at) => `${name} さんが修正して承認したばかりです。${at} に確定します。`,
    reject: (name, at) => `${name} さんが却下したばかりです。${at} に確定します。`,
    respond: (name, at) => `${name} さんが回答したばかりです。${at} に確定します。`,
  },
  title: "投票",
  needed: (stages) => `あと必要な票：${stages.join("、その後 ")}`,
  votesOf: (count, groups) => (groups ? `${groups} から ${count} 名` : `${count} 名`),
  missing: (count) => `あと ${count} 票必要です。`,
  agreeWithEdit: "修正を承認",
  approveOriginal: "元の内容を承認",
  proposal: (name, edited, original) => `${name} さんの修正：${edited}。元の内容：${original}。同じ内容への票だけが合算されます。`,
  changeVote: "投票を変更",
  takesEffectIn: (seconds) => `${seconds} 秒後に確定します`,
  takesEffect: "確定しています…",
  announcement: (seconds) => `${seconds} 秒後に確定します。u キーで取り消せます。`,
  undo: "取り消す",
  undoKey: "回答を取り消す",
  escalates: (names, at) => `誰も判断しなければ ${at} に ${names} にも依頼`,
  escalated: (names) => `回答がないため ${names} にも依頼`,
  voted: (what, person) => (person ? `投票：${what}（${behalf(person)}）` : `投票：${what}`),
  held: (what, person, at) => (person ? `${what}（${behalf(person)}、${at} に確定）` : `${what}（${at} に確定）`),
  decidedFor: (what, person) => `${what}（${behalf(person)}）`,
  override: "それでも判断する…",
  overrideHint: "管理者は、ルールで除外されている場合や票が足りない場合でも、単独で判断できます。",
  overrideReason: "理由（必須）：結果と監査証跡に残ります",
  approveAnyway: "それでも承認",
  rejectAnyway: "それでも却下",
  check: {
    caught: "これは確認テストでした。気づきました。",
    missed: "これは確認テストでした。見逃しました。",
    unanswered: "これは確認テストでした。だれも回答しませんでした。",
    because: (reason) => `誤り：${reason}`,
    never: "注意力を測るための依頼です。何も実行されていません。",
  },
  overridden: (reason) => `管理者が単独で判断しました：${reason}`,
  tiers: { high: "影響が大きい", irreversible: "元に戻せない" },
};
