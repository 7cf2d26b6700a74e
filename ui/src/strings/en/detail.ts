import type { Decision } from "../../api/types";

const decisions: Record<Decision, string> = {
  approve: "Approve", edit: "Edit", reject: "Reject", respond: "Send answer",
};
const finishDecisions: Record<Decision, string> = {
  approve: "Complete", edit: "Change the task", reject: "Not finished", respond: "Answer in words",
};

/** What the page of one request says; it is loaded with it. */
export const detail = {
  decisions, finishDecisions,
  calledByAgent: (own: string, given: string) => `${own} “${given}”`,

  whatWillHappen: "What will happen",
  whatWasAsked: "What was asked",
  edited: "edited",
  noArguments: "no arguments",
  agentSays: "The agent's words (not checked)",
  context: "Context from the agent (not checked)",
  taskFacts: "What the agent wants to end",
  task: "Task",
  summary: "The agent's summary (not checked)",
  askedBy: (name: string) => `asked by ${name}`,
  priority: { low: "low", normal: "normal", high: "high priority", urgent: "urgent" },
  attention: "This request needs attention",

  yes: "Yes",
  no: "No",
  notSet: "not set",
  range: (min: string | null, max: string | null) =>
    min !== null && max !== null ? `${min} to ${max}` : min !== null ? `at least ${min}` : `at most ${max ?? ""}`,
  fixFields: "Please look at the marked fields.",
  answerJson: "Answer (JSON)",
  badJson: (why: string) => `This is no valid JSON: ${why}`,
  notSendable: "This cannot be sent yet.",
  yourAnswer: "Your answer",
  yourQuestion: "Your words to the agent: it reads them word for word and may ask again",
  reset: "reset",
  resetNamed: (name: string) => `reset ${name}`,
  added: "added",
  removed: "removed",

  keysOfRequest: "Open request",
  keysOfReasons: "Reasons",
  confirmKey: "Confirm",
  sendKey: "Confirm, also from inside a text",
  firstField: "To the first thing to fill in",
  leaveText: "Out of the text",
  ownWords: "Own words",
  editing: "Change the arguments above, then confirm.",
  editingTask: "Change the task above, then confirm.",
  confirmEdit: "Approve with changes",
  editNeedsChange: "Change a value first",
  unsentEdits: "Your changes are kept under “Edit”. Approving now lets happen what was asked, without them.",
  why: "Why not?",
  reasons: ["Wrong amount or data", "Not needed", "Needs more information", "Not allowed", "Too risky"],
  rejectReason: "Reason (optional): the agent reads it word for word",
  askBack: "Ask back",
  sendWords: "Send",
  keepDeciding: "Back",
  sending: "Sending…",
  nameTarget: (label: string | null) =>
    label ? `This costs if it is wrong. To confirm, type the ${label} that it is about:` : "This costs if it is wrong. To confirm, type:",
  nameWrong: "This is not the same yet.",

  moreActions: "More: claim, pass on",
  claim: "Claim",
  release: "Release",
  passOn: "Pass on…",
  passOnTitle: "Who shall decide instead?",
  person: "Person",
  groups: "Groups",
  groupsHint: "Separate several with commas",
  passOnNow: "Pass on",
  passedOn: (names: string) => `Passed on to ${names}.`,
  passedOnAway: "It is not yours to see any more.",
  heldByYou: (until: string) => `You hold it until ${until}`,
  heldBy: (name: string, until: string | null) =>
    until ? `${name} holds this until ${until}: only they can decide it until then.` : `${name} holds this: only they can decide it now.`,

  refused: {
    offline: "The server cannot be reached. What you typed is kept; sending it again is safe.",
    busy: "The server is too busy. Nothing was decided: try again in a moment.",
    tooMany: "Too many calls in a short time. Nothing was decided: wait a moment, then try again.",
    notYours: "This is not (any more) yours to decide. Nothing was decided.",
    claimed: (name: string) => `${name} was faster and holds this request now. Nothing was decided.`,
    claimedByOther: "Somebody else holds this request now. Nothing was decided.",
    final: "It has ended meanwhile. Nothing of yours was decided.",
    invalid: "The server did not take this. Nothing was decided.",
    failed: "The server failed. What you typed is kept; sending it again is safe.",
  },
  gone: "This request is not here for you: it was passed on to others, or there never was one.",
  toInbox: "To the inbox",

  keptTitle: "You typed this, but it was not sent",
  keptOther: "The request changed since you typed this. It was not sent; copy what you still need.",
  copy: "Copy",
  discard: "Discard",

  endedElsewhere: "What you typed is kept and can be copied, but not sent any more.",
  digestMismatch: "The request changed since you saw it. Read it again, then decide.",
  decision: "Decision",
  answer: "Answer",
  message: "Message",
  expiredAt: (when: string) => `expired at ${when}: nobody answered in time`,
  fallbackUsed: "The run goes on with the value that was agreed for this case; that is no decision:",
  nothingRan: "Nothing ran: silence is neither a yes nor a no.",
  nothingRanCancelled: "Nothing ran.",
  runTold: "Whoever asked was told that nobody answered. Nothing was decided.",
  takenUp: (when: string) => `The run took it up at ${when}.`,

  deliveries: (count: number, troubled: number) =>
    troubled > 0 ? `Deliveries (${count}, ${troubled} not delivered)` : `Deliveries (${count})`,
  deliveryStatuses: {
    queued: "queued", waiting: "will be tried again", delivered: "delivered", failed: "failed",
    gone: "endpoint is gone", disabled: "endpoint is switched off",
  },
  nextTry: "next try",
  redeliver: "Deliver again",
  redeliveredBy: (name: string) => `${name} had it delivered again`,

  history: "History",
  erased: {
    request: (who: string, when: string) => `Erased by ${who}, ${when}`,
    person: (who: string, when: string) => `What one person said and their name were erased by ${who}, ${when}`,
    age: (who: string, when: string) => `Erased because of its age by ${who}, ${when}`,
  },
  erasedStays: "When and how it ended, the digests and the audit trail stay.",
  erasedThreadStays: "What the agent said and did here is gone. The names of thread and agent, its status and the audit trail stay.",
  happened: {
    created: "asked",
    claimed: (until: string | null) => (until ? `claimed until ${until}` : "claimed"),
    released: "released",
    reassigned: (names: string) => `passed on to ${names}`,
    reminded: "those who may answer were reminded",
    everybody: "everybody",
    acknowledged: "the run took it up",
    erased: "erased",
    attention: (why: string) => `needs attention: ${why}`,
  },
  shownDigest: "what was shown",
  authorisedDigest: "what was authorised",
};

export type Detail = typeof detail;
