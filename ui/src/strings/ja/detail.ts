import type { Decision } from "../../api/types";
import type { Detail } from "../en/detail";
import { client } from "./client";
import { granting } from "./granting";
import { numbers } from "./numbers";
import { precedent } from "./precedent";
import { schema } from "./schema";
import { stakes } from "./stakes";
import { values } from "./values";
import { voting } from "./voting";

const decisions: Record<Decision, string> = {
  approve: "承認", edit: "修正", reject: "却下", respond: "回答を送信",
};
const formDecisions: Record<Decision, string> = {
  approve: "回答を送信", edit: "修正して送信", reject: "辞退", respond: "回答を送信",
};
const finishDecisions: Record<Decision, string> = {
  approve: "完了する", edit: "タスクを変更", reject: "まだ終わっていない", respond: "言葉で答える",
};

export const detail: Detail = {
  decisions, formDecisions, finishDecisions, voting, granting, client, numbers, schema, stakes, precedent, values,
  legalHold: "法的保持",
  legalHoldHint: "管理者が解除するまで、この依頼は消去されません。",
  decisionWithAgentLabel: (own: string, agentLabel: string) => `${own}「${agentLabel}」`,

  pendingActionTitle: "実行される内容",
  requestedActionTitle: "依頼された内容",
  edited: "修正あり",
  noArguments: "引数なし",
  agentText: "エージェントの説明（未確認）",
  agentDisplay: "エージェントが示した資料（未確認）",
  rowsOf: (first: number, last: number, all: number) => `全 ${all} 行中 ${first}–${last} 行`,
  unchangedLines: (count: number) => `変更のない ${count} 行`,
  fallbackValue: "誰も回答しない場合に使われる値",
  showFullText: "続きを表示",
  context: "エージェントからの補足（未確認）",
  taskFacts: "エージェントが完了したいタスク",
  task: "タスク",
  summary: "エージェントによる要約（未確認）",
  requestedBy: (name: string) => `${name} からの依頼`,
  priority: { low: "優先度 低", normal: "通常", high: "優先度 高", urgent: "緊急" },
  attention: "この依頼は確認が必要です",

  yes: "はい",
  no: "いいえ",
  notSet: "未設定",
  range: (min: string | null, max: string | null) =>
    min !== null && max !== null ? `${min}〜${max}` : min !== null ? `${min} 以上` : `${max ?? ""} 以下`,
  checkFields: "印の付いた項目を確認してください。",
  answerJson: "回答（JSON）",
  answerFormat: "回答の形式",
  answerText: "文章",
  // The browser gives the reason in English.
  memoryNotice: (category: string) => `ここで承認した内容は「${category}」として記憶され、今後あなたが始める会話でエージェントが参照します。`,
  cannotBeSent: "このままでは送信できません。",
  chooseFile: "ファイルを選択",
  chooseOtherFile: "別のファイルを選択",
  dropHint: "またはここにドロップ",
  removeFile: (name: string) => `${name} を外す`,
  uploadingFile: "ファイルを送信中",
  cancelUpload: "中止",
  fileTooLarge: "ファイルが大きすぎます。",
  fileNotReceived: "ファイルがサーバーに届きませんでした。もう一度添付してください。",
  yourAnswer: "回答",
  messageToAgent: "エージェントへのメッセージ（入力どおりに送信。再度質問されることがあります）",
  reset: "元に戻す",
  resetField: (name: string) => `${name} を元に戻す`,
  added: "追加",
  removed: "削除",

  keysOfRequest: "開いている依頼",
  keysOfReasons: "却下の理由",
  confirmKey: "確定",
  sendKey: "確定（入力中でも可）",
  firstField: "最初の入力欄へ",
  leaveText: "入力欄から出る",
  writeReason: "自分の言葉で書く",
  editHint: "上の引数を修正してから確定してください。",
  editLearningHint: "上の本文を修正してから確定してください。書いたとおりに学習されます。",
  editTaskHint: "上のタスクを修正してから確定してください。",
  confirmEdit: "修正して承認",
  editNeedsChange: "先に値を修正してください",
  unsentEdits: "修正内容は「修正」に残っています。今承認すると、修正前の内容で実行されます。",
  rejectReasonTitle: "却下の理由",
  reasons: ["金額やデータの誤り", "不要", "情報が足りない", "許可されていない", "リスクが高すぎる"],
  learningReasons: ["正しくない", "汎用性がない", "既に知っている", "出典が信頼できない", "表現がよくない"],
  rejectReason: "理由（任意）：エージェントにそのまま届きます",
  askAgent: "エージェントに聞く",
  sendMessage: "送信",
  backToDecision: "戻る",
  sending: "送信中…",

  moreActions: "その他：自分が対応、担当を変更",
  claim: "自分が対応",
  release: "手放す",
  reassign: "担当を変更…",
  reassignTitle: "誰が判断しますか？",
  person: "担当者",
  groups: "グループ",
  groupsHint: "複数はカンマで区切ります",
  confirmReassign: "担当を変更",
  reassignedTo: (names: string) => `${names} に担当を変更しました。`,
  unanswerableWhy: "宛先の名前やグループを持つ人がいません。管理者は担当を変更できます。",
  seenByAdministrators: "このまま変更すると、管理者だけがこの依頼を見られます。",
  seenByKnown: (names: string) => `このまま変更すると、${names} と管理者がこの依頼を見られます。`,
  reassignUnknown: "それでも変更する",
  noLongerVisible: "この依頼はもう表示できません。",
  takeBack: "元に戻す",
  actedSince: "その後に誰かが操作したため、元に戻せません。",
  ownClaimNotice: (until: string) => `${until} まであなたが対応中`,
  otherClaimNotice: (name: string, until: string | null) =>
    until ? `${until} まで ${name} さんが対応中です。それまで他の人は判断できません。` : `${name} さんが対応中です。今は他の人は判断できません。`,

  requestNotVisible: "この依頼は表示できません。担当が変更されたか、存在しません",
  goToInbox: "受信箱へ",

  savedTextTitle: "入力したが送信されなかった内容",
  savedTextHint: "入力した後に依頼の内容が変わりました。送信されていません。必要な部分をコピーしてください。",
  copy: "コピー",
  discard: "破棄",

  answeredElsewhere: "すでに回答済みです。入力した内容は残っていてコピーできます",
  decision: "判断",
  answer: "回答",
  message: "メッセージ",
  expiredAt: (when: string) => `${when} に期限切れ：時間内に回答がありませんでした`,
  fallbackUsed: "取り決めておいた値で処理が続きます。これは誰かの判断ではありません：",
  expiredWithoutRun: "回答がないまま期限が切れたため、何も実行されていません",
  cancelledWithoutRun: "何も実行されていません。",
  requesterNotified: "回答がなかったことを依頼元に伝えました。何も決まっていません。",
  runContinuedAt: (when: string) => `${when} に処理が再開しました。`,

  deliveries: (count: number, troubled: number) =>
    troubled > 0 ? `送信（${count} 件、うち未送達 ${troubled} 件）` : `送信（${count} 件）`,
  deliveryStatuses: {
    queued: "送信待ち", waiting: "再試行予定", delivered: "送達済み", failed: "失敗",
    gone: "送信先が廃止", disabled: "送信先は停止中",
  },
  nextAttempt: "次の試行",
  redeliver: "再送する",
  redeliveredBy: (name: string) => `${name} さんが再送しました`,

  history: "履歴",
  erased: {
    request: (who: string, when: string) => `${who} が ${when} に消去しました`,
    person: (who: string, when: string) => `${who} が ${when} に、ある人の名前と回答を消去しました`,
    age: (who: string, when: string) => `保存期間が過ぎたため、${who} が ${when} に消去しました`,
  },
  requestErasureNote: "いつどのように終わったか、ダイジェスト、監査証跡は残ります。",
  threadErasureNote: "エージェントの発言と動作は消去されました。スレッド名、エージェント名、状態、監査証跡は残ります。",
  eventLabels: {
    created: "依頼",
    claimed: (until: string | null) => (until ? `${until} まで対応を開始` : "対応を開始"),
    released: "手放した",
    reassigned: (names: string) => `${names} に引き継ぎ`,
    unheld: "回答を取り消し",
    withdrawn: "離脱した人の回答を無効化",
    seen: "閲覧",
    memoryEdited: "記憶を変更",
    memoryDeleted: "記憶を削除",
    reminded: "回答できる人に再通知",
    everybody: "全員",
    acknowledged: "処理が再開",
    erased: "消去",
    retried: "処理を再試行",
    attention: (why: string) => `確認が必要：${why}`,
  },
  displayedDigest: "表示した内容",
  authorizedDigest: "承認した内容",
};
