import { Timeline } from "antd";
import { useState } from "react";
import { type HistoryEvent, useHistory } from "../api/history";
import type { AuditEventName, FeedEventName } from "../api/schema";
import type { Request, Vote } from "../api/types";
import { visible } from "../base/visible";
import { reasonText } from "../strings/catalogue";
import { type RequestStrings, useRequestStrings } from "../strings/detail";
import { CopyButton } from "../widgets/copy-button";
import { Loading } from "../widgets/loading";
import { namesOf, actorName } from "../widgets/names";
import { clock, clockWithSeconds } from "../widgets/time";
import { Timestamp } from "../widgets/timestamp";
import { recipientNames } from "./assignment";
import { RefusalAlert } from "./refusal-alert";
import { decisionLabel, reasonOf } from "./outcome";

type EventName = AuditEventName | FeedEventName;

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
function describeEvent(event: HistoryEvent, request: Request, strings: RequestStrings): string {
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

const eventColours: Record<string, "green" | "red" | "blue"> = {
  "request.completed": "green", "request.cancelled": "red", "request.expired": "red", "request.created": "blue",
};

const shortLength = 8;

/** Return the first digits of a digest, without the name of its algorithm. */
const shortDigest = (digest: string) => digest.slice(digest.indexOf(":") + 1).slice(0, shortLength);

function Digest({ label, value }: { label: string; value: string | null | undefined }) {
  if (!value) return null;
  return <div className="quiet" data-testid="digest">{label}: <code title={visible(value)}>{visible(shortDigest(value))}</code> <CopyButton text={value} /></div>;
}

function HistoryEntry({ event, request }: { event: HistoryEvent; request: Request }) {
  const strings = useRequestStrings();
  const { digest, response } = event.changed;
  return (
    <div data-testid="history-event" data-type={event.type}>
      <Timestamp at={event.at} /> · {actorName(event.actor, strings)} · {describeEvent(event, request, strings)}
      {response?.override && <div>{strings.voting.overridden(visible(response.override))}</div>}
      <Digest label={strings.displayedDigest} value={digest} />
      <Digest label={strings.authorizedDigest} value={response?.authorised_digest} />
    </div>
  );
}

function HistoryEvents({ request }: { request: Request }) {
  const { data, error, refetch } = useHistory(request, true);
  if (error) return <RefusalAlert error={error} retry={() => void refetch()} />;
  if (!data) return <Loading title={false} paragraph={{ rows: 2 }} />;
  const items = data.map((event) => ({
    key: event.id, color: eventColours[event.type] ?? "gray", content: <HistoryEntry event={event} request={request} />,
  }));
  return <Timeline items={items} />;
}

/** The history of a request with its digests, collapsed at first. */
export function History({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const [open, setOpen] = useState(false);
  return (
    <details className="history" data-testid="history" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="quiet">{strings.history}</summary>
      {open && <HistoryEvents request={request} />}
    </details>
  );
}
