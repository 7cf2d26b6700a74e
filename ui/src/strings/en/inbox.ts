import type { Order, Tab } from "../../api/lists";
import type { Priority, Tier } from "../../api/types";
import type { Section } from "../../api/urgency";

const tabs: Record<Tab, string> = { pending: "Pending", mine: "Mine", done: "Done" };
const priorities: Record<Priority, string> = { urgent: "urgent", high: "high", normal: "normal", low: "low" };
const sections: Record<Section, string> = { overdue: "Overdue", soon: "Due soon", rest: "The rest" };
const orders: Record<Order, string> = { urgent: "Most urgent first", newest: "Newest first" };
const tierNames: Record<Tier, string> = { irreversible: "cannot be undone", high: "high stakes", medium: "medium stakes", low: "low stakes" };
const emptyTabs: Record<Tab, string> = {
  pending: "You're all caught up", mine: "Nothing is assigned to you.", done: "Nothing has been decided yet.",
};
const requests = (count: string) => (count === "1" ? "1 request" : `${count} requests`);

export const inbox = {
  tabs, priorities, emptyTabs, sections, orders, tierNames,
  show: "Show",
  requests: "Requests",
  justNow: "now",
  noRequestOpen: "Choose a request to see what will happen.",
  hints: {
    open: {
      title: "Agents wait here for you.",
      text: (onPhone: boolean) => `Nothing happens until somebody answers. ${onPhone ? "Touch" : "Open"} a request: the real call stands first, and the agent's own words in a box below it.`,
    },
    answer: {
      title: "Decide in one step.",
      text: (onPhone: boolean): string => onPhone ? "The buttons stand at your thumb. You can change values before you approve." : "j and k move, ⏎ opens; a approves, e edits, r rejects. Press ? for all keys.",
    },
    threads: {
      title: "The agent goes on by itself.",
      text: () => "After your answer the run continues, also tomorrow or after a restart. See it at work under Threads.",
    },
  },
  closeHint: "Close the hint",
  emptyHint: "New requests will show up here",
  doneToday: (count: string) => `${count} done today`,
  noMatches: "Nothing matches.",
  clearFilters: "Clear the filters",

  search: "Search",
  anyValue: "Any",
  kindFilter: "Kind",
  priorityFilter: "Priority",

  noneDue: (count: string) => `${count} waiting, none due within the hour`,
  unanswerable: "Nobody here can answer this",
  firstOfKind: "new kind",
  firstOfKindHint: "Nobody was asked about this tool in the last 30 days",
  bundleFloods: "Bundle floods by tool",
  forPerson: (agent: string, person: string) => `${agent} for ${person}`,
  aboveLimit: "above the limit",
  order: "Order",
  filter: "Filter",
  filterCount: (count: number) => `Filter (${count})`,
  tierFilter: "Stakes",
  agentFilter: "Agent",
  toolFilter: "Tool",
  groupFilter: "Group",
  toolsWaiting: "Tools",

  equalCount: (count: string) => `${count} equal`,
  bundleTitle: (tool: string, count: string) => `${tool}: ${count} requests in the last hour`,
  bundleHint: "opens one by one",
  answersAll: (count: string) => `Answer all ${count} equal requests`,
  answersAllHint: "They show the same to the last character. Approve or Reject goes to each of them; an edit goes only to this one.",
  range: (least: string, most: string) => `${least} – ${most}`,

  newRequestCount: (count: string) => `${count} new`,
  loading: "Loading",
  loadMoreFailed: "More could not be loaded.",
  notInList: "no longer in this list",

  dueIn: (time: string) => `due in ${time}`,
  overdue: "overdue",
  expiresIn: (time: string) => `${time} left`,
  deadlinePassed: "deadline passed",

  select: (title: string) => `Select: ${title}`,
  selected: (count: string) => `${count} selected`,
  clearSelection: "Clear the selection",
  bulkRefusals: {
    tier: "High stakes: decide it individually.",
    learning: "An insight: decide it individually, or with its answer under Learning.",
    form: "It needs its own answer.",
    decisions: "Can't be decided in bulk",
  },
  bulk: {
    approve: "Approve…",
    reject: "Reject…",
    approveTitle: (count: string) => `Approve ${requests(count)}?`,
    rejectTitle: (count: string) => `Reject ${requests(count)}?`,
    approveNow: (count: string) => `Approve ${count}`,
    rejectNow: (count: string) => `Reject ${count}`,
    selectAll: (count: string) => (count ? `Select all ${count} of this list` : "Select all of this list"),
    selectingAll: (count: string) => `Loading: ${count}…`,
    sum: "Sum",
    extremes: "Least to greatest",
    undeclared: (count: string) => `${count} without a declared amount`,
    tiers: "Stakes",
    leftOut: "Left out",
    leftOutWhy: (count: string, why: string) => `${count}: ${why}`,
    progress: (done: string, all: string) => `${done} of ${all} decided`,
    times: (count: string) => `${count} ×`,
    showAllLines: (count: string) => `Show all ${count}`,
    reason: "Reason (optional): each agent reads it word for word",
    approveHint: "This will run:",
    rejectHint: "This will not run:",
    done: (count: string) => `${count} decided`,
    skipped: (count: string) => `${requests(count)} skipped, still selected.`,
    sending: "Sending…",
    changed: "It changed since you saw it.",
    unknown: "Not confirmed. It is safe to send it again.",
    retryRest: "Retry the rest",
    cancel: "Cancel",
    close: "Close",
  },

  keys: {
    next: "Next request (in the list also ↓)",
    previous: "Previous request (in the list also ↑)",
    open: "Open",
    select: "Select, to decide several at once",
    range: "Select up to here (also Shift with ↑ ↓)",
    search: "Search",
    showNewRequests: "Show the new ones",
    back: "Back to the list",
  },
};
