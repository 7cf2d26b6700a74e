import type { stakes as english } from "../en/stakes";

const question: (typeof english)["question"] = {
  amount: (name) => `此操作无法撤销。此调用的“${name}”是哪个？`,
  target: (name) => `此操作无法撤销。此调用作用于哪个“${name}”？`,
  argument: (name) => `此操作无法撤销。“${name}”的值是哪个？`,
  tool: () => "此操作无法撤销。将运行哪个工具？",
  kind: () => "此操作无法撤销。这是哪种请求？",
};

export const stakes: typeof english = {
  question,
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
