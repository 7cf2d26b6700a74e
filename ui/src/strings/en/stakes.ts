import type { FactSubject } from "../../api/types";

const question: Record<FactSubject, (name: string) => string> = {
  amount: (name) => `This cannot be undone. Which “${name}” does this call have?`,
  target: (name) => `This cannot be undone. Which “${name}” does this call act on?`,
  argument: (name) => `This cannot be undone. Which value does “${name}” have?`,
  tool: () => "This cannot be undone. Which tool will run?",
  kind: () => "This cannot be undone. What kind of request is this?",
};

/** The strings of what is at stake: the effect of a call, and the question before one that cannot be undone. */
export const stakes = {
  question,
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
