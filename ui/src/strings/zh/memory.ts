import type { Memory } from "../en/memory";

export const memory: Memory = {
  memoryHint: "您在注明会被记住的表单中批准的内容。智能体会在您发起的对话中使用；其他人看不到本页。",
  noMemories: "目前没有记住关于您的内容。",
  noMemoriesHint: "当您批准一个会被记住的表单后，内容会显示在这里。",
  memories: "已记住的内容",
  answeredLabel: "回答于",
  changedLabel: "修改于",
  requestLink: "提问的请求",
  editMemory: "修改",
  saveMemory: "保存",
  deleteMemory: "删除",
  deleteMemoryTitle: "不再记住这项内容？",
  deleteMemoryWarning: "从下一次对话起，智能体不再知道它。此操作无法撤销。回答本身仍保留在其请求中。",
  cancelDelete: "保留",
  nextMemory: "下一项记忆",
  previousMemory: "上一项记忆",
  memoryLabel: (what: string, question: string) => `${what}：${question}`,
  memoryNotFound: "这项内容已不再被记住。",
};
