/** What is left out of a text: whole lines, or the rest of one. */
interface HiddenText {
  lines: number;
  characters: number;
}

const counted = (count: number, one: string, many: string) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** The strings of values that are drawn as what they look like. */
export const en = {
  shapes: {
    plain: "", text: "text", markdown: "Markdown", diff: "diff", tree: "", mail: "", code: "code", table: "table", image: "image", pdf: "PDF", link: "link",
  },
  mail: "Mail",
  mailNames: { from: "From", to: "To", cc: "Cc", bcc: "Bcc", reply_to: "Reply to", replyTo: "Reply to", subject: "Subject" } as Record<string, string>,
  asShape: "Formatted",
  copy: "Copy",
  copied: "Copied",
  savePdf: "Save the file",
  pdf: {
    file: (pages: number) => `PDF, ${counted(pages, "page", "pages")}`,
    page: (number: number, pages: number) => `Page ${number} of ${pages}`,
    more: (pages: number) => counted(pages, "more page", "more pages"),
    rest: (pages: number) => `Not shown here: ${counted(pages, "more page", "more pages")}. Save the file to see everything.`,
    loading: "Loading the PDF",
    incomplete: "Parts may be missing here. Save the file to see everything.",
    problems: {
      broken: "This PDF cannot be shown; it may be damaged. Save the file to examine it.",
      locked: "A password protects this PDF. Save the file to open it.",
      large: "This PDF is too large to be shown here. Save the file to open it.",
      late: "Drawing this PDF takes too long. Save the file to open it.",
    },
  },
  notEncrypted: "not encrypted (http)",
  signedLink: "The text before @ is not the site: this link leads to the host above.",
  moreOf: ({ lines, characters }: HiddenText) => (lines > 0 ? counted(lines, "more line", "more lines") : counted(characters, "more character", "more characters")),
  moreRows: (count: number) => counted(count, "more row", "more rows"),
  moreValues: (count: number) => counted(count, "more value", "more values"),
  morePeople: (count: number) => counted(count, "more recipient", "more recipients"),
  items: (count: number) => counted(count, "item", "items"),
  fields: (count: number) => counted(count, "field", "fields"),
};

export const ja: typeof en = {
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

export const zh: typeof en = {
  shapes: {
    plain: "", text: "文本", markdown: "Markdown", diff: "差异", tree: "", mail: "", code: "代码", table: "表格", image: "图片", pdf: "PDF", link: "链接",
  },
  mail: "邮件",
  mailNames: { from: "发件人", to: "收件人", cc: "抄送", bcc: "密送", reply_to: "回复至", replyTo: "回复至", subject: "主题" },
  asShape: "格式化显示",
  copy: "复制",
  copied: "已复制",
  savePdf: "保存文件",
  pdf: {
    file: (pages) => `PDF，共 ${pages} 页`,
    page: (number, pages) => `第 ${number} 页，共 ${pages} 页`,
    more: (pages) => `还有 ${pages.toLocaleString("zh")} 页`,
    rest: (pages) => `其余 ${pages.toLocaleString("zh")} 页不在此显示。请保存文件查看全部内容。`,
    loading: "正在加载 PDF",
    incomplete: "此处可能有内容缺失。请保存文件查看全部内容。",
    problems: {
      broken: "无法显示此 PDF，文件可能已损坏。请保存文件后检查。",
      locked: "此 PDF 受密码保护。请保存文件后打开。",
      large: "此 PDF 过大，无法在此显示。请保存文件后打开。",
      late: "绘制此 PDF 耗时过长。请保存文件后打开。",
    },
  },
  notEncrypted: "未加密（http）",
  signedLink: "@ 之前的文字不是网站：此链接指向上面的主机。",
  moreOf: ({ lines, characters }) => (lines > 0 ? `还有 ${lines.toLocaleString("zh")} 行` : `还有 ${characters.toLocaleString("zh")} 个字符`),
  moreRows: (count) => `还有 ${count.toLocaleString("zh")} 行`,
  moreValues: (count) => `还有 ${count.toLocaleString("zh")} 个值`,
  morePeople: (count) => `还有 ${count.toLocaleString("zh")} 个收件人`,
  items: (count) => `${count.toLocaleString("zh")} 项`,
  fields: (count) => `${count.toLocaleString("zh")} 个字段`,
};
