import type { Memory } from "../en/memory";

export const memory: Memory = {
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
