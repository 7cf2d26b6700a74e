import type { values as en } from "../en/values";

export const values: typeof en = {
  shapes: {
    plain: "", text: "文本", markdown: "Markdown", diff: "差异", tree: "", mail: "", code: "代码", table: "表格", image: "图片", pdf: "PDF", link: "链接",
  },
  mail: "邮件",
  mailNames: { from: "发件人", to: "收件人", cc: "抄送", bcc: "密送", reply_to: "回复至", replyTo: "回复至", subject: "主题" },
  asShape: "格式化显示",
  copy: "复制",
  copied: "已复制",
  savePdf: "保存后打开",
  notEncrypted: "未加密（http）",
  signedLink: "@ 之前的文字不是网站：此链接指向上面的主机。",
  moreOf: ({ lines, characters }) => (lines > 0 ? `还有 ${lines.toLocaleString("zh")} 行` : `还有 ${characters.toLocaleString("zh")} 个字符`),
  moreRows: (count) => `还有 ${count.toLocaleString("zh")} 行`,
  moreValues: (count) => `还有 ${count.toLocaleString("zh")} 个值`,
  morePeople: (count) => `还有 ${count.toLocaleString("zh")} 个收件人`,
  items: (count) => `${count.toLocaleString("zh")} 项`,
  fields: (count) => `${count.toLocaleString("zh")} 个字段`,
};
