import type { request as en } from "../en/request";
import type { Decision, RequestStatus } from "../../api/types";
import { withCodes } from "../../base/alphabets";

const decided: Record<Decision, string> = {
  approve: "已批准", edit: "修改后批准", reject: "已拒绝", respond: "已回答",
};
const decidedForm: Record<Decision, string> = {
  approve: "已回答", edit: "修改后回答", reject: "已谢绝", respond: "已回答",
};
const decidedFinish: Record<Decision, string> = {
  approve: "已完成", edit: "已更改任务", reject: "已退回", respond: "已回答",
};
const statuses: Record<RequestStatus, string> = {
  pending: "待处理", completed: "已处理", cancelled: "已取消", expired: "已过期",
};

export const request: typeof en = {
  decided, decidedForm, decidedFinish, statuses,
  kinds: { approval: "审批", form: "表单", choice: "选择", question: "提问", finish: "任务完成？", learning: "经验" },
  thread: "会话",
  agentNamed: (name: string) => `智能体 ${name}`,
  ruleNamed: (name: string) => `规则 ${name}`,
  ruleNumbered: (number: number) => `策略的第 ${number} 条规则`,
  ruleDefault: "策略的默认规则",
  earlierApproval: "预先批准",
  system: "Ringi",
  erasedPerson: "已清除的人员",
  erasedTitle: "已清除的请求",
  assignedTo: (names: string) => `负责人：${names}`,
  groupNamed: (name: string) => `${name} 组`,
  assignedToOthers: (names: string) => `${names}。您可以查看，由负责人决定。`,
  agentsCannotDecide: "您以智能体身份登录。只有人可以决定。",
  auditorsCannotDecide: "您以审计员身份登录。审计员只能查看，不能决定。",
  listed: (names) => new Intl.ListFormat("zh").format(names),
  anyOf: (names) => new Intl.ListFormat("zh", { type: "disjunction" }).format(names),
  deputy: (name, person) => `${name}（代 ${person}）`,
  excluded: {
    starter: "此次运行由您发起，须由他人决定。",
    deputy: "您所代理的人提出或启动了此事，须由他人决定。",
    asker: "此请求由您提出，须由他人决定。",
  },
  votesFirst: (names) => `须先由 ${names}投票，然后轮到您。`,
  votesNow: (names) => `目前只有 ${names}可以同意。`,
  ownVote: "您已投票",
  heldVote: "即将生效",
  claimedBy: (name: string) => `${name} 正在处理`,
  requiredField: "请填写此项。",
  hiddenCharacters: "包含不可见字符的写法：",
  mixedAlphabets: (letters: readonly string[]) => `来自其他字母表的形似字母：${withCodes(letters)}`,
  outcomeText: (what: string, who: string | null, when: string | null) =>
    `${what}${who || when ? `（${[who, when].filter(Boolean).join("，")}）` : ""}`,
  decisionSaved: (what: string, title: string) => `${what}：${title}`,
  expiredUnanswered: "已过期：无人及时回答",
  cancelledBecause: (reason: string) => `已取消：${reason}`,
  superseded: "已被新的提问取代",
};
