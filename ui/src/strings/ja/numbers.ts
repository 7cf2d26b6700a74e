import type { numbers as english } from "../en/numbers";

export const numbers: typeof english = {
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
