/** The strings of calls of clients outside of Ringi, and of their sessions. */
export const en = {
  folder: (path: string) => `Folder ${path}`,
  session: (count: string | null) => (count === null ? "session" : `session, ${count} open`),
  argumentsAbove: (count: number) => `Arguments shown above (${count})`,
  beforeUnchecked: "The text before the change comes from the client (not checked).",
  sessionOf: (name: string) => `Session of ${name}`,
  open: (count: string) => `${count} open`,
  noneOpen: "Nothing is open in this session. New requests appear here.",
  showOlder: "Show older requests",
  next: "Next request",
  previous: "Previous request",
};

export const ja: typeof en = {
  folder: (path) => `フォルダー ${path}`,
  session: (count) => (count === null ? "セッション" : `セッション（未回答 ${count} 件）`),
  argumentsAbove: (count) => `上に表示されている引数（${count} 件）`,
  beforeUnchecked: "変更前の内容はクライアントによるものです（未確認）。",
  sessionOf: (name) => `${name} のセッション`,
  open: (count) => `未回答 ${count} 件`,
  noneOpen: "このセッションに未回答の依頼はありません。新しい依頼はここに表示されます。",
  showOlder: "以前の依頼を表示",
  next: "次の依頼",
  previous: "前の依頼",
};

export const zh: typeof en = {
  folder: (path) => `文件夹 ${path}`,
  session: (count) => (count === null ? "会话" : `会话（${count} 项待处理）`),
  argumentsAbove: (count) => `上方已显示的参数（${count}）`,
  beforeUnchecked: "修改前的内容来自客户端（未核实）。",
  sessionOf: (name) => `${name} 的会话`,
  open: (count) => `${count} 项待处理`,
  noneOpen: "此会话没有待处理的请求。新的请求会显示在这里。",
  showOlder: "显示更早的请求",
  next: "下一个请求",
  previous: "上一个请求",
};
