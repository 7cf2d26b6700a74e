import type { request as en } from "../en/request";
import type { Decision, RequestStatus } from "../../api/types";

const decisions: Record<Decision, string> = {
  approve: "Approve", edit: "Edit", reject: "Reject", respond: "Send answer",
};
const decided: Record<Decision, string> = {
  approve: "approved", edit: "approved with changes", reject: "rejected", respond: "answered",
};
const statuses: Record<RequestStatus, string> = {
  pending: "pending", completed: "completed", cancelled: "cancelled", expired: "expired",
};
export const request: typeof en = {
  decisions, decided, statuses,

  whatWillHappen: "What will happen",
  whatWasAsked: "What was asked",
  noArguments: "no arguments",
  agentSays: "The agent's words (not checked)",
  context: "Context from the agent (not checked)",
  taskFacts: "What the agent wants to end",
  task: "Task",
  summary: "Summary",
  askedAt: "asked",
  askedBy: (name: string) => `by ${name}`,
  thread: "thread",
  assignedTo: (name: string) => `for ${name}`,
  claimedBy: (name: string) => `claimed by ${name}`,
  priority: { low: "low", normal: "normal", high: "high priority", urgent: "urgent" },
  attention: "This request needs attention",

  yes: "Yes",
  no: "No",
  notSet: "not set",
  range: (min: string | null, max: string | null) =>
    min !== null && max !== null ? `${min} to ${max}` : min !== null ? `at least ${min}` : `at most ${max ?? ""}`,
  requiredField: "Please fill this in.",
  fixFields: "Please look at the marked fields.",
  answerJson: "Answer (JSON)",
  badJson: (detail: string) => `This is no valid JSON: ${detail}`,
  notSendable: "This cannot be sent yet.",
  yourAnswer: "Your answer",
  hiddenCharacters: "With its invisible characters:",
  reset: "reset",
  becomes: "becomes",
  editing: "Change the arguments, then confirm.",
  editingTask: "Change the task, then confirm.",
  confirmEdit: "Approve with changes",
  editNeedsChange: "Change a value first",
  rejectReason: "Reason (optional): the agent reads it word for word",
  keepDeciding: "Back to the decision",
  sending: "Sending…",

  endedElsewhere: "This request has ended meanwhile. What you typed is still here, but cannot be sent.",
  digestMismatch: "The request changed since you saw it. Read it again, then decide.",
  ended: (what: string, who: string | null, when: string | null) =>
    [who ? `${what} by ${who}` : what, when].filter(Boolean).join(", "),
  saved: (what: string, title: string) => `${what}: ${title}`,
  decision: "Decision",
  answer: "Answer",
  message: "Message",
  expiredNobody: "expired: nobody answered in time",
  fallbackUsed: "The run goes on with the value that was agreed for this case; that is no decision.",
  cancelledBecause: (reason: string) => `cancelled: ${reason}`,
};
