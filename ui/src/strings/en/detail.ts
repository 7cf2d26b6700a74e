import type { Decision } from "../../api/types";
import { client } from "./client";
import { granting } from "./granting";
import { numbers } from "./numbers";
import { precedent } from "./precedent";
import { schema } from "./schema";
import { stakes } from "./stakes";
import { values } from "./values";
import { voting } from "./voting";

const decisions: Record<Decision, string> = {
  approve: "Approve", edit: "Edit", reject: "Reject", respond: "Send answer",
};
const formDecisions: Record<Decision, string> = {
  approve: "Send answer", edit: "Send with changes", reject: "Decline", respond: "Send answer",
};
const finishDecisions: Record<Decision, string> = {
  approve: "Complete", edit: "Change the task", reject: "Not finished", respond: "Answer in words",
};

/** The strings of the page of a request; they are loaded with that page. */
export const detail = {
  decisions, formDecisions, finishDecisions, voting, granting, client, numbers, schema, stakes, precedent, values,
  legalHold: "Legal hold",
  legalHoldHint: "Nothing erases this request until an administrator lifts the hold.",
  decisionWithAgentLabel: (own: string, agentLabel: string) => `${own} “${agentLabel}”`,

  pendingActionTitle: "What will happen",
  requestedActionTitle: "What was asked",
  edited: "edited",
  noArguments: "no arguments",
  agentText: "From the agent (not checked)",
  agentDisplay: "Shown by the agent (not checked)",
  rowsOf: (first: number, last: number, all: number) => `${first}–${last} of ${all} rows`,
  unchangedLines: (count: number) => `${count} unchanged lines`,
  fallbackValue: "Value that the run may use if nobody answers",
  showFullText: "Show more",
  context: "Context from the agent (not checked)",
  taskFacts: "Task that the agent wants to finish",
  task: "Task",
  summary: "The agent's summary (not checked)",
  requestedBy: (name: string) => `asked by ${name}`,
  priority: { low: "low priority", normal: "normal", high: "high priority", urgent: "urgent" },
  attention: "This request needs attention",

  yes: "Yes",
  no: "No",
  notSet: "not set",
  range: (min: string | null, max: string | null) =>
    min !== null && max !== null ? `${min} to ${max}` : min !== null ? `at least ${min}` : `at most ${max ?? ""}`,
  checkFields: "Please check the marked fields.",
  answerJson: "Answer (JSON)",
  answerFormat: "Answer as",
  answerText: "Text",
  memoryNotice: (category: string) => `What you approve here is remembered as “${category}”. Agents use it in conversations that you start later.`,
  cannotBeSent: "This cannot be sent yet.",
  chooseFile: "Choose a file",
  chooseOtherFile: "Choose another",
  dropHint: "or drop it here",
  removeFile: (name: string) => `Remove ${name}`,
  uploadingFile: "Sending the file",
  cancelUpload: "Stop",
  fileTooLarge: "This file is too large.",
  fileNotReceived: "The file did not reach the server. Attach it again.",
  yourAnswer: "Your answer",
  messageToAgent: "Message to the agent (sent as written; it may ask again)",
  reset: "reset",
  resetField: (name: string) => `reset ${name}`,
  added: "added",
  removed: "removed",

  keysOfRequest: "Open request",
  keysOfReasons: "Reasons",
  confirmKey: "Confirm",
  sendKey: "Confirm, also while typing",
  firstField: "Go to the first field",
  leaveText: "Leave the text field",
  writeReason: "Write your own reason",
  editHint: "Change the arguments above, then confirm.",
  editLearningHint: "Change the text above, then confirm. What you write is what is learned.",
  editTaskHint: "Change the task above, then confirm.",
  confirmEdit: "Approve with changes",
  editNeedsChange: "Change a value first",
  unsentEdits: "Your changes are kept under “Edit”. If you approve now, the original runs without them.",
  rejectReasonTitle: "Why not?",
  reasons: ["Wrong amount or data", "Not needed", "Needs more information", "Not allowed", "Too risky"],
  learningReasons: ["Not true", "Not general enough", "Known already", "Source not trusted", "Badly worded"],
  rejectReason: "Reason (optional, sent to the agent as written)",
  askAgent: "Ask the agent",
  sendMessage: "Send",
  backToDecision: "Back",
  sending: "Sending…",

  moreActions: "More: claim, reassign",
  claim: "Claim",
  release: "Release",
  reassign: "Reassign…",
  reassignTitle: "Who should decide?",
  person: "Person",
  groups: "Groups",
  groupsHint: "Separate several with commas",
  confirmReassign: "Reassign",
  reassignedTo: (names: string) => `Reassigned to ${names}.`,
  unanswerableWhy: "No person who is known here has its name or its group. An administrator can reassign it.",
  seenByAdministrators: "Only administrators could then see this request.",
  seenByKnown: (names: string) => `Then ${names} and administrators could see this request.`,
  reassignUnknown: "Reassign all the same",
  noLongerVisible: "You can no longer see it.",
  takeBack: "Take it back",
  actedSince: "Somebody has acted on it since: it cannot be taken back.",
  ownClaimNotice: (until: string) => `Claimed by you until ${until}`,
  otherClaimNotice: (name: string, until: string | null) =>
    until ? `${name} has claimed this until ${until}. Only they can decide it until then.` : `${name} has claimed this. Only they can decide it now.`,

  requestNotVisible: "You can't see this request. It was reassigned, or it never existed",
  goToInbox: "Go to the inbox",

  savedTextTitle: "You typed this, but it was not sent",
  savedTextHint: "The request changed since you typed this. It was not sent; copy what you still need.",
  copy: "Copy",
  discard: "Discard",

  answeredElsewhere: "Already answered. Your text is kept so you can copy it",
  decision: "Decision",
  answer: "Answer",
  message: "Message",
  expiredAt: (when: string) => `expired at ${when}: nobody answered in time`,
  fallbackUsed: "The run continues with the agreed fallback value. This is not a decision:",
  expiredWithoutRun: "It expired without an answer, so nothing ran",
  cancelledWithoutRun: "Nothing ran.",
  requesterNotified: "The requester was told that nobody answered. Nothing was decided.",
  runContinuedAt: (when: string) => `The run continued at ${when}.`,

  deliveries: (count: number, troubled: number) =>
    troubled > 0 ? `Deliveries (${count}, ${troubled} not delivered)` : `Deliveries (${count})`,
  deliveryStatuses: {
    queued: "queued", waiting: "will be retried", delivered: "delivered", failed: "failed",
    gone: "endpoint removed", disabled: "endpoint disabled",
  },
  nextAttempt: "next attempt",
  redeliver: "Deliver again",
  redeliveredBy: (name: string) => `${name} delivered it again`,

  history: "History",
  erased: {
    request: (who: string, when: string) => `Erased by ${who}, ${when}`,
    person: (who: string, when: string) => `One person's name and answer were erased by ${who}, ${when}`,
    age: (who: string, when: string) => `Erased because of its age by ${who}, ${when}`,
  },
  requestErasureNote: "How and when it ended, the digests and the audit trail remain.",
  threadErasureNote: "The agent's messages and actions were erased. The names of the thread and the agent, the status and the audit trail remain.",
  eventLabels: {
    created: "created",
    claimed: (until: string | null) => (until ? `claimed until ${until}` : "claimed"),
    released: "released",
    reassigned: (names: string) => `reassigned to ${names}`,
    unheld: "undid the answer",
    withdrawn: "withdrew the answer of a person who left",
    seen: "opened it",
    memoryEdited: "changed the memory of it",
    memoryDeleted: "deleted the memory of it",
    reminded: "a reminder was sent",
    everybody: "everybody",
    acknowledged: "the run continued",
    erased: "erased",
    retried: "the run was retried",
    attention: (why: string) => `needs attention: ${why}`,
  },
  displayedDigest: "digest shown",
  authorizedDigest: "digest authorized",
};

export type Detail = typeof detail;
export type Voting = typeof voting;
