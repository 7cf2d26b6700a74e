/** The strings of inputs that take a number. */
export const en = {
  example: (example: string) => `Write numbers like ${example}.`,
  stored: (number: string) => `Stored as ${number}`,
  which: "Which number is meant?",
  whole: (number: string) => `${number} (whole number)`,
  decimals: (number: string) => `${number} (with decimals)`,
  notation: (example: string) => `This is not a number in your browser's notation: write it like ${example}.`,
  tooLarge: (most: string) => `A number above ${most} cannot be stored exactly: the agent has to ask for it as text.`,
  tooPrecise: (nearest: string) => `So many digits cannot be stored exactly: the nearest number is ${nearest}.`,
  wholeNumber: "whole numbers only",
  allowed: (bounds: string) => `This number is not allowed: ${bounds}.`,
};

export const ja: typeof en = {
  example: (example) => `数値は ${example} のように入力してください。`,
  stored: (number) => `保存される値：${number}`,
  which: "どちらの数値ですか？",
  whole: (number) => `${number}（整数）`,
  decimals: (number) => `${number}（小数）`,
  notation: (example) => `ブラウザーの表記では数値として読めません。${example} のように入力してください。`,
  tooLarge: (most) => `${most} を超える数値は正確に保存できません。エージェントが文字列として尋ねる必要があります。`,
  tooPrecise: (nearest) => `桁数が多すぎて正確に保存できません。最も近い数値は ${nearest} です。`,
  wholeNumber: "整数のみ",
  allowed: (bounds) => `この数値は使えません（${bounds}）。`,
};

export const zh: typeof en = {
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
