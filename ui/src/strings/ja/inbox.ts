import type { inbox as en } from "../en/inbox";

export const inbox: typeof en = {
  pending: "Pending",
  all: "All",
  show: "Show",
  emptyInbox: "Nothing waits for you.",
  emptyInboxHint: "New requests appear here by themselves.",
  emptyAll: "No requests yet.",
  pick: "Choose a request to see what will happen.",
  requests: "Requests",
  dueIn: (time: string) => `due in ${time}`,
  overdue: "overdue",
  expiresIn: (time: string) => `${time} left`,
  deadlinePassed: "deadline passed",
};
