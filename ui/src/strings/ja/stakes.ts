import type { stakes as english } from "../en/stakes";

const question: (typeof english)["question"] = {
  amount: (name) => `この操作は取り消せません。この呼び出しの「${name}」はどれですか？`,
  target: (name) => `この操作は取り消せません。この呼び出しの対象の「${name}」はどれですか？`,
  argument: (name) => `この操作は取り消せません。「${name}」の値はどれですか？`,
  tool: () => "この操作は取り消せません。実行されるツールはどれですか？",
  kind: () => "この操作は取り消せません。この依頼の種類はどれですか？",
};

export const stakes: typeof english = {
  question,
  asks: (agent, person, token) => `${agent} からの依頼${person ? `（${person} さんのため）` : ""}${token ? `（トークン ${token}）` : ""}`,
  anotherKind: (key) => `これは別の種類の依頼です。内容を読んでから、もう一度「${key}」を押してください。`,
  agentSays: "エージェントの言葉：",
  notDeclared: "効果は宣言されていません",
  target: (name) => (name ? `対象 ${name}` : "対象"),
  reversible: (how) => (typeof how === "string" ? `取り消し可能：${how}` : how ? "取り消し可能" : "取り消し不可"),
  aboveLimit: (limit) => `通常の上限 ${limit} を超過`,
  keysOfQuestion: "決定の前の質問",
  wrongAnswer: "正しくありません。何も送信していません。呼び出しを読み直してください。答えの順番は変わりました。",
  lookAgain: "影響の大きい操作です。呼び出しを読み直してから確認してください。",
};
