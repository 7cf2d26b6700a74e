import type { FactSubject } from "../api/types";

/** The strings of what is at stake: the effect of a call, and the question before one that cannot be undone. */
export const en = {
  question: {
    amount: (name) => `This cannot be undone. Which “${name}” does this call have?`,
    target: (name) => `This cannot be undone. Which “${name}” does this call act on?`,
    argument: (name) => `This cannot be undone. Which value does “${name}” have?`,
    tool: () => "This cannot be undone. Which tool will run?",
    kind: () => "This cannot be undone. What kind of request is this?",
  } satisfies Record<FactSubject, (name: string) => string>,
  asks: (agent: string, person: string | null, token: string | null) =>
    `${agent} asks${person ? ` for ${person}` : ""}${token ? ` (token ${token})` : ""}`,
  anotherKind: (key: string) => `This is another kind of request. Read it, then press “${key}” again.`,
  agentSays: "The agent says:",
  notDeclared: "Effect not declared",
  target: (name: string) => name || "target",
  reversible: (how: boolean | string) => (typeof how === "string" ? `can be undone: ${how}` : how ? "can be undone" : "cannot be undone"),
  aboveLimit: (limit: string) => `above the usual limit of ${limit}`,
  keysOfQuestion: "Question before the decision",
  wrongAnswer: "That is not right. Nothing was sent: read the call again. The answers have a new order.",
  lookAgain: "Much is at stake. Read the call again, then confirm.",
};

export const ja: typeof en = {
  question: {
    amount: (name) => `この操作は取り消せません。この呼び出しの「${name}」はどれですか？`,
    target: (name) => `この操作は取り消せません。この呼び出しの対象の「${name}」はどれですか？`,
    argument: (name) => `この操作は取り消せません。「${name}」の値はどれですか？`,
    tool: () => "この操作は取り消せません。実行されるツールはどれですか？",
    kind: () => "この操作は取り消せません。この依頼の種類はどれですか？",
  },
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

export const zh: typeof en = {
  question: {
    amount: (name) => `此操作无法撤销。此调用的“${name}”是哪个？`,
    target: (name) => `此操作无法撤销。此调用作用于哪个“${name}”？`,
    argument: (name) => `此操作无法撤销。“${name}”的值是哪个？`,
    tool: () => "此操作无法撤销。将运行哪个工具？",
    kind: () => "此操作无法撤销。这是哪种请求？",
  },
  asks: (agent, person, token) => `${agent} 提出${person ? `，为 ${person}` : ""}${token ? `（令牌 ${token}）` : ""}`,
  anotherKind: (key) => `这是另一种请求。请先阅读，然后再按一次“${key}”。`,
  agentSays: "智能体说：",
  notDeclared: "未声明影响",
  target: (name) => (name ? `对象 ${name}` : "对象"),
  reversible: (how) => (typeof how === "string" ? `可以撤销：${how}` : how ? "可以撤销" : "无法撤销"),
  aboveLimit: (limit) => `超过通常上限 ${limit}`,
  keysOfQuestion: "决定前的问题",
  wrongAnswer: "不正确。未发送任何内容：请重新阅读此调用。答案的顺序已改变。",
  lookAgain: "此操作影响重大。请重新阅读此调用，然后确认。",
};
