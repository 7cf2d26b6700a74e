import { usePartStrings } from ".";

export const en = {
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

export const ja: typeof en = {
  memoryHint: "記憶すると示されたフォームで、あなたが承認した内容です。あなたが始める会話でエージェントが参照します。このページはほかの人には見えません。",
  noMemories: "あなたについて記憶されていることはまだありません。",
  noMemoriesHint: "回答を記憶するフォームを承認すると、ここに表示されます。",
  memories: "記憶されていること",
  answeredLabel: "回答",
  changedLabel: "変更",
  requestLink: "質問された依頼",
  editMemory: "変更",
  saveMemory: "保存",
  deleteMemory: "削除",
  deleteMemoryTitle: "この記憶を削除しますか？",
  deleteMemoryWarning: "次の会話から、エージェントはこれを参照しません。元に戻せません。回答そのものは依頼に残ります。",
  cancelDelete: "残す",
  nextMemory: "次の記憶",
  previousMemory: "前の記憶",
  memoryLabel: (what: string, question: string) => `${what}：${question}`,
  memoryNotFound: "これはもう記憶されていません。",
};

export const zh: typeof en = {
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

/** Return the strings of the memory page and those of every page. */
export const useMemoryStrings = () => usePartStrings("memory", () => en);
