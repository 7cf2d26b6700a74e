import { Timeline } from "antd";
import { useState } from "react";
import type { auditEvents, feedEvents } from "../api/schema";
import type { Request } from "../api/types";
import { clock } from "../widgets/time";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { decidedOf, reasonOf } from "./outcome";
import { actorName, namesOf } from "./people";
import { Refused } from "./refused";
import { useHistory, type HistoryEvent } from "./use-history";
import { When } from "./when";
import { useWords, type Words } from "./words";

type EventName = (typeof feedEvents)[number] | (typeof auditEvents)[number];

/** A newer server's event; one of this server's that has no words here is an error of the types. */
function unknown(name: never): string {
  return visible(name);
}

function whatOf({ type, changed }: HistoryEvent, kind: Request["kind"], strings: Words): string {
  const { happened, statuses } = strings;
  const { claimed_until: until, reason } = changed;
  const name = type as EventName;
  switch (name) {
    case "request.created": return happened.created;
    case "request.claimed": return happened.claimed(until ? clock(until, strings.language) : null);
    case "request.released": return happened.released;
    case "request.reassigned": return happened.reassigned(namesOf(changed, strings) ?? happened.everybody);
    case "request.completed": return changed.response ? decidedOf(kind, changed.response.decision, strings) : statuses.completed;
    case "request.cancelled": return reason ? strings.cancelledBecause(reasonOf(reason, strings)) : statuses.cancelled;
    case "request.expired": return strings.expiredNobody;
    case "request.reminded": return happened.reminded;
    case "request.acknowledged": return happened.acknowledged;
    case "request.memory_edited": return happened.memoryEdited;
    case "request.memory_deleted": return happened.memoryDeleted;
    case "request.erased": return happened.erased;
    case "request.retried": return happened.retried;
    case "request.attention": return happened.attention(visible(changed.attention ?? ""));
    default: return unknown(name);
  }
}

const colours: Record<string, "green" | "red" | "blue"> = {
  "request.completed": "green", "request.cancelled": "red", "request.expired": "red", "request.created": "blue",
};

function Digest({ label, value }: { label: string; value: string | null | undefined }) {
  if (!value) return null;
  return <div className="quiet">{label}: <code>{visible(value)}</code></div>;
}

function Happened({ event, kind }: { event: HistoryEvent; kind: Request["kind"] }) {
  const strings = useWords();
  const { digest, response } = event.changed;
  return (
    <div data-testid="history-event" data-type={event.type}>
      <When at={event.at} /> · {actorName(event.actor, strings)} · {whatOf(event, kind, strings)}
      <Digest label={strings.shownDigest} value={digest} />
      <Digest label={strings.authorisedDigest} value={response?.authorised_digest} />
    </div>
  );
}

function Events({ request }: { request: Request }) {
  const { data, error, refetch } = useHistory(request, true);
  if (error) return <Refused error={error} retry={() => void refetch()} />;
  if (!data) return <Loading title={false} paragraph={{ rows: 2 }} />;
  const items = data.map((event) => ({
    key: event.id, color: colours[event.type] ?? "gray", content: <Happened event={event} kind={request.kind} />,
  }));
  return <Timeline items={items} />;
}

/** Who did what and when, and by which digests; folded until somebody wants to know. */
export function History({ request }: { request: Request }) {
  const strings = useWords();
  const [open, setOpen] = useState(false);
  return (
    <details className="history" data-testid="history" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="quiet">{strings.history}</summary>
      {open && <Events request={request} />}
    </details>
  );
}
