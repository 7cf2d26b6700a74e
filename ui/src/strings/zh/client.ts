import type { Client } from "../en/client";

export const client: Client = {
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
