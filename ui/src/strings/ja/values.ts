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
  savePdf: "ファイルを保存",
  pdf: {
    file: (pages) => `PDF、${pages} ページ`,
    page: (number, pages) => `${pages} ページ中 ${number} ページ目`,
    more: (pages) => `残り ${pages.toLocaleString("ja")} ページ`,
    rest: (pages) => `残りの ${pages.toLocaleString("ja")} ページはここには表示されません。ファイルを保存して全体を確認してください。`,
    loading: "PDF を読み込んでいます",
    incomplete: "一部が欠けている可能性があります。ファイルを保存して確認してください。",
    problems: {
      broken: "この PDF は表示できません。壊れている可能性があります。ファイルを保存して確認してください。",
      locked: "この PDF はパスワードで保護されています。ファイルを保存して開いてください。",
      large: "この PDF は大きすぎて、ここには表示できません。ファイルを保存して開いてください。",
      late: "この PDF の描画に時間がかかりすぎています。ファイルを保存して開いてください。",
    },
  },
  notEncrypted: "暗号化なし（http）",
  signedLink: "@ の前の文字はサイト名ではありません。このリンクの行き先は上のホストです。",
  moreOf: ({ lines, characters }) => (lines > 0 ? `残り ${lines.toLocaleString("ja")} 行` : `残り ${characters.toLocaleString("ja")} 文字`),
  moreRows: (count) => `残り ${count.toLocaleString("ja")} 行`,
  moreValues: (count) => `残り ${count.toLocaleString("ja")} 個の値`,
  morePeople: (count) => `残り ${count.toLocaleString("ja")} 件の宛先`,
  items: (count) => `${count.toLocaleString("ja")} 件`,
  fields: (count) => `${count.toLocaleString("ja")} 項目`,
};
