/** What is left out of a text: whole lines, or the rest of one. */
interface HiddenText {
  lines: number;
  characters: number;
}

const counted = (count: number, one: string, many: string) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** The strings of values that are drawn as what they look like. */
export const values = {
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
