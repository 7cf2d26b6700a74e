import type { HistoryEvent } from "../api/history";
import type { auditEvents, feedEvents } from "../api/schema";
import type { Request, Vote } from "../api/types";
import { reasonText } from "../strings/catalogue";
import type { RequestStrings } from "../strings/detail";
import { clock, clockWithSeconds } from "../widgets/time";
import { visible } from "../base/visible";
import { namesOf } from "../widgets/names";
import { decisionLabel, reasonOf } from "./outcome";
import { recipientNames } from "./voting";

type EventName = (typeof feedEvents)[number] | (typeof auditEvents)[number];

/** Format an event of a newer server; a missing case for a known event is a type error. */
function unknownEvent(name: never): string {
  return visible(name);
}

function describeDecision({ decision, for: person }: Pick<Vote, "decision" | "for">, request: Request, strings: RequestStrings): string {
  const what = decisionLabel(request, decision, strings);
  return person ? strings.voting.decidedFor(what, visible(person)) : what;
}

/** Describe a vote, a held answer or an escalation. */
function describeStep({ changed }: HistoryEvent, request: Request, strings: RequestStrings): string {
  const { voting } = strings;
  const { escalation = [] } = request;
  const { held, votes = [], escalated = 0 } = changed;
  const vote = held ?? votes.at(-1);
  if (!vote) return voting.escalated(recipientNames(escalation[escalated - 1]?.to ?? [], strings));
  const person = vote.for ? visible(vote.for) : null;
  if (held) return voting.held(decisionLabel(request, held.decision, strings), person, clockWithSeconds(held.until, strings.language));
  return voting.voted(voting.agreed[vote.decision], person);
}

/** Return what an event of the history was. */
export function describeEvent(event: HistoryEvent, request: Request, strings: RequestStrings): string {
  const { type, changed } = event;
  const { eventLabels, statuses } = strings;
  const { claimed_until: until, reason } = changed;
  const name = type as EventName;
  switch (name) {
    case "request.created": return eventLabels.created;
    case "request.claimed": return eventLabels.claimed(until ? clock(until, strings.language) : null);
    case "request.released": return eventLabels.released;
    case "request.reassigned": return eventLabels.reassigned(namesOf(changed, strings) ?? eventLabels.everybody);
    case "request.escalated":
    case "request.voted":
    case "request.held": return describeStep(event, request, strings);
    case "request.unheld": return eventLabels.unheld;
    case "request.withdrawn": return eventLabels.withdrawn;
    case "request.completed": return changed.response ? describeDecision(changed.response, request, strings) : statuses.completed;
    case "request.cancelled": return reason ? strings.cancelledBecause(reasonOf(reason, strings)) : statuses.cancelled;
    case "request.expired": return strings.expiredUnanswered;
    case "request.seen": return eventLabels.seen;
    case "request.reminded": return eventLabels.reminded;
    case "request.acknowledged": return eventLabels.acknowledged;
    case "request.memory_edited": return eventLabels.memoryEdited;
    case "request.memory_deleted": return eventLabels.memoryDeleted;
    case "request.erased": return eventLabels.erased;
    case "request.retried": return eventLabels.retried;
    case "request.attention": return eventLabels.attention(visible(reasonText(changed.attention ?? "", strings)));
    default: return unknownEvent(name);
  }
}
