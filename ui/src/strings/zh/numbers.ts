import type { numbers as english } from "../en/numbers";

export const numbers: typeof english = {
  example: (example) => `数字请按 ${example} 的格式输入。`,
  stored: (number) => `将保存为 ${number}`,
  which: "您指的是哪个数字？",
  whole: (number) => `${number}（整数）`,
  decimals: (number) => `${number}（小数）`,
  notation: (example) => `按浏览器的数字格式无法识别：请按 ${example} 的格式输入。`,
  tooLarge: (most) => `大于 ${most} 的数字无法精确保存：智能体需要以文本形式询问。`,
  tooPrecise: (nearest) => `位数太多，无法精确保存：最接近的数字是 ${nearest}。`,
  wholeNumber: "只能是整数",
  allowed: (bounds) => `不允许此数字：${bounds}。`,
};
