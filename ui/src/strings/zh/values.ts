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
