import type { request as en } from "../en/request";
import type { Decision, RequestStatus } from "../../api/types";
import { withCodes } from "../../base/alphabets";

const decided: Record<Decision, string> = {
  approve: "承認", edit: "修正して承認", reject: "却下", respond: "回答",
};
const decidedForm: Record<Decision, string> = {
  approve: "回答", edit: "修正して回答", reject: "辞退", respond: "回答",
};
const decidedFinish: Record<Decision, string> = {
  approve: "完了", edit: "タスク変更", reject: "差し戻し", respond: "回答",
};
const statuses: Record<RequestStatus, string> = {
  pending: "未処理", completed: "処理済み", cancelled: "取り消し", expired: "期限切れ",
};

export const request: typeof en = {
  decided, decidedForm, decidedFinish, statuses,
  kinds: { approval: "承認", form: "フォーム", choice: "選択", question: "質問", finish: "完了しますか？", learning: "学び" },
  agentNamed: (name: string) => `エージェント ${name}`,
  ruleNamed: (name: string) => `ルール ${name}`,
  ruleNumbered: (number: number) => `ポリシーのルール ${number}`,
  ruleDefault: "ポリシーの既定",
  earlierApproval: "事前承認",
  system: "Ringi",
  erasedPerson: "消去された人",
  erasedTitle: "消去された依頼",
  thread: "スレッド",
  assignedTo: (names: string) => `担当：${names}`,
  groupNamed: (name: string) => `グループ ${name}`,
  listed: (names) => names.join("、"),
  anyOf: (names) => names.join("または"),
  deputy: (name, person) => `${name}（${person} さんの代理）`,
  excluded: {
    starter: "この実行はあなたが開始したため、別の人が判断する必要があります。",
    deputy: "代理をしている相手が依頼または開始したものです。別の人が判断します。",
    asker: "これはあなたが依頼したため、別の人が判断する必要があります。",
  },
  votesFirst: (names) => `先に${names} の投票が必要です。その後、投票できます。`,
  votesNow: (names) => `今、賛成できるのは${names} だけです。`,
  ownVote: "投票済み",
  heldVote: "まもなく確定",
  claimedBy: (name: string) => `${name} さんが対応中`,
  requiredField: "入力してください。",
  hiddenCharacters: "見えない文字を含む表記：",
  mixedAlphabets: (letters: readonly string[]) => `別の文字体系のよく似た文字：${withCodes(letters)}`,
  assignedToOthers: (names: string) => `${names}。内容は読めますが、判断するのは担当者です。`,
  agentsCannotDecide: "エージェントとしてサインインしています。判断できるのは人だけです。",
  auditorsCannotDecide: "監査人としてサインインしています。監査人は閲覧だけができ、判断はできません。",
  outcomeText: (what: string, who: string | null, when: string | null) =>
    `${what}${who || when ? `（${[who, when].filter(Boolean).join("、")}）` : ""}`,
  decisionSaved: (what: string, title: string) => `${what}：${title}`,
  expiredUnanswered: "期限切れ：時間内に回答がありませんでした",
  cancelledBecause: (reason: string) => `取り消し：${reason}`,
  superseded: "新しい質問に置き換わりました",
};
