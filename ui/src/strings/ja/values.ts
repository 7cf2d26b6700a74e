import type { values as en } from "../en/values";

export const values: typeof en = {
  shapes: {
    plain: "", text: "テキスト", markdown: "Markdown", diff: "差分", tree: "", mail: "", code: "コード", table: "表", image: "画像", pdf: "PDF", link: "リンク",
  },
  mail: "メール",
  mailNames: { from: "差出人", to: "宛先", cc: "Cc", bcc: "Bcc", reply_to: "返信先", replyTo: "返信先", subject: "件名" },
  asShape: "整形表示",
  copy: "コピー",
  copied: "コピーしました",
  savePdf: "保存して開く",
  notEncrypted: "暗号化なし（http）",
  signedLink: "@ の前の文字はサイト名ではありません。このリンクの行き先は上のホストです。",
  moreOf: ({ lines, characters }) => (lines > 0 ? `残り ${lines.toLocaleString("ja")} 行` : `残り ${characters.toLocaleString("ja")} 文字`),
  moreRows: (count) => `残り ${count.toLocaleString("ja")} 行`,
  moreValues: (count) => `残り ${count.toLocaleString("ja")} 個の値`,
  morePeople: (count) => `残り ${count.toLocaleString("ja")} 件の宛先`,
  items: (count) => `${count.toLocaleString("ja")} 件`,
  fields: (count) => `${count.toLocaleString("ja")} 項目`,
};
