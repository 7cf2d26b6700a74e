import type { Decision } from "../../api/types";
import type { Detail } from "../en/detail";
import { client } from "./client";
import { granting } from "./granting";
import { numbers } from "./numbers";
import { precedent } from "./precedent";
import { schema } from "./schema";
import { stakes } from "./stakes";
import { values } from "./values";
import { voting } from "./voting";

const decisions: Record<Decision, string> = {
  approve: "批准", edit: "修改", reject: "拒绝", respond: "发送回答",
};
const formDecisions: Record<Decision, string> = {
  approve: "发送回答", edit: "修改后发送", reject: "谢绝", respond: "发送回答",
};
const finishDecisions: Record<Decision, string> = {
  approve: "确认完成", edit: "更改任务", reject: "尚未完成", respond: "用文字回答",
};

export const detail: Detail = {
  decisions, formDecisions, finishDecisions, voting, granting, client, numbers, schema, stakes, precedent, values,
  legalHold: "法律保留",
  legalHoldHint: "在管理员解除之前，此请求不会被删除。",
  decisionWithAgentLabel: (own: string, agentLabel: string) => `${own}“${agentLabel}”`,

  pendingActionTitle: "将要执行的内容",
  requestedActionTitle: "所请求的内容",
  edited: "已修改",
  noArguments: "无参数",
  agentText: "智能体的说明（未核实）",
  agentDisplay: "智能体展示的内容（未经核实）",
  rowsOf: (first: number, last: number, all: number) => `第 ${first}–${last} 行，共 ${all} 行`,
  unchangedLines: (count: number) => `${count} 行未改动`,
  fallbackValue: "无人答复时运行可使用的值",
  showFullText: "显示其余内容",
  context: "智能体提供的背景（未核实）",
  taskFacts: "智能体想要结束的任务",
  task: "任务",
  summary: "智能体的摘要（未核实）",
  requestedBy: (name: string) => `${name} 提出`,
  priority: { low: "低优先级", normal: "普通", high: "高优先级", urgent: "紧急" },
  attention: "此请求需要关注",

  yes: "是",
  no: "否",
  notSet: "未设置",
  range: (min: string | null, max: string | null) =>
    min !== null && max !== null ? `${min} 到 ${max}` : min !== null ? `不小于 ${min}` : `不大于 ${max ?? ""}`,
  checkFields: "请检查标出的字段。",
  answerJson: "回答（JSON）",
  answerFormat: "回答方式",
  answerText: "文字",
  // The browser gives the reason in English.
  memoryNotice: (category: string) => `您在此批准的内容将记为“${category}”：智能体会在您以后发起的对话中使用。`,
  cannotBeSent: "目前还不能发送。",
  chooseFile: "选择文件",
  chooseOtherFile: "选择其他文件",
  dropHint: "或拖放到此处",
  removeFile: (name: string) => `移除 ${name}`,
  uploadingFile: "正在发送文件",
  cancelUpload: "停止",
  fileTooLarge: "文件过大。",
  fileNotReceived: "文件未送达服务器，请重新添加。",
  yourAnswer: "您的回答",
  messageToAgent: "给智能体的消息（原样发送，它可能会再次提问）",
  reset: "还原",
  resetField: (name: string) => `还原 ${name}`,
  added: "新增",
  removed: "删除",

  keysOfRequest: "打开的请求",
  keysOfReasons: "拒绝理由",
  confirmKey: "确认",
  sendKey: "确认（输入时也可用）",
  firstField: "跳到第一个要填写的字段",
  leaveText: "离开输入框",
  writeReason: "自己写理由",
  editHint: "请在上方修改参数，然后确认。",
  editLearningHint: "请在上方修改正文，然后确认。您写的就是学习的内容。",
  editTaskHint: "请在上方修改任务，然后确认。",
  confirmEdit: "修改后批准",
  editNeedsChange: "请先修改一个值",
  unsentEdits: "您的修改保留在“修改”中。现在批准将按原请求执行，不含这些修改。",
  rejectReasonTitle: "为什么拒绝？",
  reasons: ["金额或数据有误", "不需要", "需要更多信息", "不允许", "风险太高"],
  learningReasons: ["不正确", "不够通用", "已经知道", "来源不可信", "表述不好"],
  rejectReason: "理由（可选）：会原样告知智能体",
  askAgent: "询问智能体",
  sendMessage: "发送",
  backToDecision: "返回",
  sending: "发送中…",

  moreActions: "更多：由我处理、改派",
  claim: "由我处理",
  release: "释放",
  reassign: "改派…",
  reassignTitle: "由谁来决定？",
  person: "人员",
  groups: "组",
  groupsHint: "多个请用逗号分隔",
  confirmReassign: "改派",
  reassignedTo: (names: string) => `已改派给 ${names}。`,
  unanswerableWhy: "没有人使用其名称或属于其群组。管理员可以改派。",
  seenByAdministrators: "改派后只有管理员能看到此请求。",
  seenByKnown: (names: string) => `改派后 ${names} 和管理员能看到此请求。`,
  reassignUnknown: "仍然改派",
  noLongerVisible: "您已无法查看此请求。",
  takeBack: "收回",
  actedSince: "此后已有人操作，无法收回。",
  ownClaimNotice: (until: string) => `由您处理至 ${until}`,
  otherClaimNotice: (name: string, until: string | null) =>
    until ? `${name} 正在处理，至 ${until} 为止只有此人可以决定。` : `${name} 正在处理，目前只有此人可以决定。`,

  requestNotVisible: "您无法查看此请求：它已改派他人，或不存在",
  goToInbox: "前往收件箱",

  savedTextTitle: "您输入过但未发送的内容",
  savedTextHint: "在您输入之后请求已变更。内容未发送，请复制仍需要的部分。",
  copy: "复制",
  discard: "丢弃",

  answeredElsewhere: "已有人回答。您输入的内容已保留，可以复制",
  decision: "决定",
  answer: "回答",
  message: "留言",
  expiredAt: (when: string) => `已于 ${when} 过期：无人及时回答`,
  fallbackUsed: "流程将使用事先约定的值继续；这不是任何人的决定：",
  expiredWithoutRun: "未在期限内回答，因此未执行任何操作",
  cancelledWithoutRun: "未执行任何操作。",
  requesterNotified: "已告知请求方无人回答。尚未作出决定。",
  runContinuedAt: (when: string) => `流程已于 ${when} 继续。`,

  deliveries: (count: number, troubled: number) =>
    troubled > 0 ? `投递（${count} 条，其中 ${troubled} 条未送达）` : `投递（${count} 条）`,
  deliveryStatuses: {
    queued: "等待投递", waiting: "稍后重试", delivered: "已送达", failed: "失败",
    gone: "接收端已停用", disabled: "接收端已关闭",
  },
  nextAttempt: "下次尝试",
  redeliver: "重新投递",
  redeliveredBy: (name: string) => `${name} 已重新投递`,

  history: "历史",
  erased: {
    request: (who: string, when: string) => `${who} 于 ${when} 清除`,
    person: (who: string, when: string) => `${who} 于 ${when} 清除了某人的姓名和回答`,
    age: (who: string, when: string) => `因超过保存期限，${who} 于 ${when} 清除`,
  },
  requestErasureNote: "结束的时间和方式、摘要和审计记录仍然保留。",
  threadErasureNote: "智能体在此说过和做过的内容已清除。会话名、智能体名、状态和审计记录仍然保留。",
  eventLabels: {
    created: "提出请求",
    claimed: (until: string | null) => (until ? `开始处理，至 ${until}` : "开始处理"),
    released: "释放",
    reassigned: (names: string) => `转交给 ${names}`,
    unheld: "撤销了答复",
    withdrawn: "撤下了离开者的答复",
    seen: "已查看",
    memoryEdited: "修改了记忆",
    memoryDeleted: "删除了记忆",
    reminded: "已提醒可答复的人",
    everybody: "所有人",
    acknowledged: "流程继续",
    erased: "清除",
    retried: "重试了流程",
    attention: (why: string) => `需要关注：${why}`,
  },
  displayedDigest: "所展示的内容",
  authorizedDigest: "所授权的内容",
};
