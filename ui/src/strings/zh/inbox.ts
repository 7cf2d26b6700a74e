import type { inbox as en } from "../en/inbox";

export const inbox: typeof en = {
  tabs: { pending: "待处理", mine: "我的", done: "已处理" },
  priorities: { urgent: "紧急", high: "高", normal: "普通", low: "低" },
  emptyTabs: { pending: "全部处理完毕", mine: "没有由您负责的请求。", done: "还没有已处理的请求。" },
  show: "显示",
  requests: "请求列表",
  justNow: "刚刚",
  noRequestOpen: "选择一个请求，查看将会发生什么。",
  hints: {
    open: {
      title: "智能体在这里等您。",
      text: (onPhone) => `在有人回答之前，什么都不会执行。${onPhone ? "轻触" : "打开"}一个请求：实际的调用在最前面，智能体自己的话在下方的框里。`,
    },
    answer: {
      title: "一个键即可决定。",
      text: (onPhone) => onPhone ? "按钮就在拇指边。批准之前可以修改各个值。" : "a 批准，e 编辑，r 拒绝，j 和 k 移动。按 ? 查看所有按键。",
    },
    threads: {
      title: "智能体会自行继续。",
      text: () => "您回答之后，运行会继续，即使是明天或重启之后。可以在“会话”中看到它的工作。",
    },
  },
  closeHint: "关闭提示",
  emptyHint: "新请求会显示在这里",
  doneToday: (count) => `今天已处理 ${count} 个`,
  noMatches: "没有符合条件的请求。",
  clearFilters: "清除筛选",

  search: "搜索",
  kindFilter: "类型",
  priorityFilter: "优先级",

  newRequestCount: (count) => `${count} 个新请求`,
  loading: "正在加载",
  loadMoreFailed: "无法加载更多。",
  notInList: "已不在此列表中",

  dueIn: (time) => `${time} 后到期`,
  overdue: "已逾期",
  expiresIn: (time) => `剩余 ${time}`,
  deadlinePassed: "已过期限",

  select: (title) => `选择：${title}`,
  selected: (count) => `已选 ${count} 个`,
  clearSelection: "清除选择",
  bulkRefusals: {
    tier: "影响重大，请单独决定。",
    form: "需要单独填写回答。",
    decisions: "无法批量决定",
  },
  bulk: {
    approve: "批准…",
    reject: "拒绝…",
    approveTitle: (count) => `批准 ${count} 个请求？`,
    rejectTitle: (count) => `拒绝 ${count} 个请求？`,
    approveNow: (count) => `批准 ${count} 个`,
    rejectNow: (count) => `拒绝 ${count} 个`,
    reason: "理由（可选）：会原样告知每个智能体",
    approveHint: "将会执行：",
    rejectHint: "以下内容不会执行：",
    done: (count) => `已处理 ${count} 个`,
    skipped: (count) => `${count} 个已跳过，仍保持选中。`,
    sending: "正在发送…",
    changed: "您查看之后内容有变化。",
    unknown: "尚未确认，可以放心重新发送。",
    retryRest: "重新发送其余请求",
    cancel: "取消",
    close: "关闭",
  },

  keys: {
    next: "下一个请求（列表中也可用 ↓）",
    previous: "上一个请求（列表中也可用 ↑）",
    open: "打开",
    select: "选择，以便批量处理",
    range: "选择到此处（也可用 Shift 加 ↑ ↓）",
    search: "搜索",
    showNewRequests: "显示新请求",
    back: "返回列表",
  },
};
