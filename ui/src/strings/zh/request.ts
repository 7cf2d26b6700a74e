import type { request as en } from "../en/request";
import type { Decision, RequestStatus } from "../../api/types";

const decided: Record<Decision, string> = {
  approve: "已批准", edit: "修改后批准", reject: "已拒绝", respond: "已回答",
};
const decidedFinish: Record<Decision, string> = {
  approve: "已完成", edit: "已更改任务", reject: "已退回", respond: "已回答",
};
const statuses: Record<RequestStatus, string> = {
  pending: "待处理", completed: "已处理", cancelled: "已取消", expired: "已过期",
};

export const request: typeof en = {
  decided, decidedFinish, statuses,
  kinds: { approval: "审批", form: "表单", choice: "选择", question: "提问", finish: "任务完成？", learning: "经验" },
  thread: "会话",
  agentNamed: (name: string) => `智能体 ${name}`,
  ruleNamed: (name: string) => `规则 ${name}`,
  system: "Ringi",
  erasedPerson: "已清除的人员",
  erasedTitle: "已清除的请求",
  assignedTo: (names: string) => `负责人：${names}`,
  groupNamed: (name: string) => `${name} 组`,
  assignedToOthers: (names: string) => `${names}。您可以查看，由负责人决定。`,
  agentsCannotDecide: "您以智能体身份登录。只有人可以决定。",
  claimedBy: (name: string) => `${name} 正在处理`,
  requiredField: "请填写此项。",
  hiddenCharacters: "包含不可见字符的写法：",
  outcomeText: (what: string, who: string | null, when: string | null) =>
    `${what}${who || when ? `（${[who, when].filter(Boolean).join("，")}）` : ""}`,
  decisionSaved: (what: string, title: string) => `${what}：${title}`,
  expiredUnanswered: "已过期：无人及时回答",
  cancelledBecause: (reason: string) => `已取消：${reason}`,
  superseded: "已被新的提问取代",
  threadCancelled: "运行已被停止",
  gate: {
    learnTitle: (what: string) => `学习：“${what}”`,
    finishQuestion: (task: string) => `任务完成了吗：${task}`,
    stopped: (task: string) => `中途停止：${task}`,
    emptyTask: "没有内容的任务",
    newTask: "新任务是什么？",
    previousTaskQuestion: "之前的任务完成了吗？",
    unclearAnswer: (answer: string) => `“${answer}”不是决定。完成请回答“是”（yes、y、はい），更换任务请回答“更新”（update、u）。`,
    roundLimit: (times: string) => `已经继续了 ${times} 次：请完成，或最终拒绝。`,
    previousUndecided: "前一个问题没有人作出决定。",
    nextTaskTitle: "然后只带着交接内容开始下一个任务：",
    stepLimit: "已达到单次运行的步数上限",
  },
};
