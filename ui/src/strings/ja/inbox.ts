import type { inbox as en } from "../en/inbox";

export const inbox: typeof en = {
  tabs: { pending: "未処理", mine: "自分の担当", done: "処理済み" },
  priorities: { urgent: "緊急", high: "高", normal: "通常", low: "低" },
  emptyTabs: {
    pending: "対応待ちの依頼はありません", mine: "あなたが担当する依頼はありません。", done: "処理済みの依頼はまだありません。",
  },
  show: "表示",
  requests: "依頼一覧",
  justNow: "今",
  noRequestOpen: "依頼を選ぶと、何が行われるかが表示されます。",
  hints: {
    open: {
      title: "エージェントがここであなたを待っています。",
      text: (onPhone) => `誰かが回答するまで何も実行されません。依頼を${onPhone ? "タップする" : "開く"}と、実際の呼び出しが先に、エージェント自身の説明がその下の枠に表示されます。`,
    },
    answer: {
      title: "キー1つで判断できます。",
      text: (onPhone) => onPhone ? "ボタンは親指の届く位置にあります。承認する前に値を変更できます。" : "a で承認、e で修正、r で却下、j と k で移動します。? を押すとすべてのキーが表示されます。",
    },
    threads: {
      title: "エージェントは自動的に続行します。",
      text: () => "回答の後、翌日でも再起動の後でも実行が続きます。その様子は「スレッド」で見られます。",
    },
  },
  closeHint: "ヒントを閉じる",
  emptyHint: "新しい依頼はここに表示されます",
  doneToday: (count) => `今日の処理済み：${count}件`,
  noMatches: "該当する依頼はありません。",
  clearFilters: "絞り込みを解除",

  search: "検索",
  kindFilter: "種類",
  priorityFilter: "優先度",

  newRequestCount: (count) => `新着 ${count}件`,
  loading: "読み込み中",
  loadMoreFailed: "続きを読み込めませんでした。",
  notInList: "この一覧から外れました",

  dueIn: (time) => `期限まで ${time}`,
  overdue: "期限超過",
  expiresIn: (time) => `残り ${time}`,
  deadlinePassed: "期限切れ",

  select: (title) => `選択：${title}`,
  selected: (count) => `${count}件を選択中`,
  clearSelection: "選択を解除",
  bulkRefusals: {
    tier: "影響が大きいため、個別に判断してください。",
    form: "回答の入力が必要です。",
    decisions: "まとめて判断できません",
  },
  bulk: {
    approve: "承認…",
    reject: "却下…",
    approveTitle: (count) => `${count}件を承認しますか？`,
    rejectTitle: (count) => `${count}件を却下しますか？`,
    approveNow: (count) => `${count}件を承認`,
    rejectNow: (count) => `${count}件を却下`,
    reason: "理由（任意）：各エージェントにそのまま伝わります",
    approveHint: "次の内容が実行されます。",
    rejectHint: "次の内容は実行されません。",
    done: (count) => `${count}件を処理しました`,
    skipped: (count) => `${count}件は処理されず、選択されたままです。`,
    sending: "送信中…",
    changed: "表示後に内容が変わりました。",
    unknown: "未確認です。もう一度送っても問題ありません。",
    retryRest: "残りを再送",
    cancel: "キャンセル",
    close: "閉じる",
  },

  keys: {
    next: "次の依頼（一覧では ↓ も）",
    previous: "前の依頼（一覧では ↑ も）",
    open: "開く",
    select: "まとめて判断するために選択",
    range: "ここまで選択（Shift と ↑ ↓ も）",
    search: "検索",
    showNewRequests: "新着を表示",
    back: "一覧に戻る",
  },
};
