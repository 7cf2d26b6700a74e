import type { Client } from "../en/client";

export const client: Client = {
  folder: (path) => `フォルダー ${path}`,
  session: (count) => (count === null ? "セッション" : `セッション（未回答 ${count} 件）`),
  argumentsAbove: (count) => `上に表示されている引数（${count} 件）`,
  beforeUnchecked: "変更前の内容はクライアントによるものです（未確認）。",
  sessionOf: (name) => `${name} のセッション`,
  open: (count) => `未回答 ${count} 件`,
  noneOpen: "このセッションに未回答の依頼はありません。新しい依頼はここに表示されます。",
  showOlder: "以前の依頼を表示",
  next: "次の依頼",
  previous: "前の依頼",
};
