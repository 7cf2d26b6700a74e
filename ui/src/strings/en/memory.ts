export const memory = {
  memoryHint: "Answers that you approved to be remembered. Agents know them in conversations that you start; nobody else sees this page.",
  noMemories: "Nothing is remembered of you yet.",
  noMemoriesHint: "When you approve a form whose answer is to be remembered, it appears here.",
  memories: "Memories",
  answeredLabel: "answered",
  changedLabel: "changed",
  requestLink: "the request",
  editMemory: "Change",
  saveMemory: "Save",
  deleteMemory: "Delete",
  deleteMemoryTitle: "Delete this memory?",
  deleteMemoryWarning: "Agents do not know it from the next conversation on. It cannot be undone. The answer itself stays with its request.",
  cancelDelete: "Keep it",
  nextMemory: "Next memory",
  previousMemory: "Previous memory",
  memoryLabel: (what: string, question: string) => `${what}: ${question}`,
  memoryNotFound: "This memory no longer exists.",
};

export type Memory = typeof memory;
