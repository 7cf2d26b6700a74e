export const memory = {
  memoryHint: "Answers that you approved to be remembered. Agents know them in conversations that you start; nobody else sees this page.",
  nothingRemembered: "Nothing is remembered of you yet.",
  nothingRememberedHint: "When you approve a form whose answer is to be remembered, it appears here.",
  memories: "What is remembered",
  told: "told",
  changedAt: "changed",
  askedHere: "where it was asked",
  editMemory: "Change",
  saveMemory: "Save",
  deleteMemory: "Delete",
  deleteMemoryTitle: "Remember this no longer?",
  deleteMemoryMeans: "Agents do not know it from the next conversation on. It cannot be undone. The answer itself stays with its request.",
  keepMemory: "Keep it",
  nextMemory: "Next memory",
  previousMemory: "Previous memory",
  memoryNamed: (what: string, question: string) => `${what}: ${question}`,
  memoryIsGone: "This is not remembered any more.",
};

export type Memory = typeof memory;
