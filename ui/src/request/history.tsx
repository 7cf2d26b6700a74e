import { Button, Flex, Tag, Timeline } from "antd";
import { useState } from "react";
import { useDeliveries, useHistory, useRedeliver, type Delivery, type DeliveryAttempt, type HistoryEvent } from "../api/history";
import type { auditEvents, feedEvents } from "../api/schema";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { useRequestStrings, type RequestStrings } from "../strings/use-request-strings";
import { Loading } from "../widgets/loading";
import { explain } from "../widgets/problem";
import { clock, Timestamp } from "../widgets/time";
import { visible } from "../widgets/visible";
import { reasonText } from "../strings/catalogue";
import { actorName, namesOf } from "./assignment";
import { RefusalAlert } from "./notices";
import { decisionLabel, reasonOf } from "./outcome";

type EventName = (typeof feedEvents)[number] | (typeof auditEvents)[number];

/** Format an event of a newer server; a missing case for a known event is a type error. */
function unknownEvent(name: never): string {
  return visible(name);
}

function describeEvent({ type, changed }: HistoryEvent, kind: Request["kind"], strings: RequestStrings): string {
  const { eventLabels, statuses } = strings;
  const { claimed_until: until, reason } = changed;
  const name = type as EventName;
  switch (name) {
    case "request.created": return eventLabels.created;
    case "request.claimed": return eventLabels.claimed(until ? clock(until, strings.language) : null);
    case "request.released": return eventLabels.released;
    case "request.reassigned": return eventLabels.reassigned(namesOf(changed, strings) ?? eventLabels.everybody);
    case "request.escalated": return eventLabels.escalated;
    case "request.voted": return eventLabels.voted;
    case "request.held": return eventLabels.held;
    case "request.unheld": return eventLabels.unheld;
    case "request.completed": return changed.response ? decisionLabel(kind, changed.response.decision, strings) : statuses.completed;
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

function Digest({ label, value }: { label: string; value: string | null | undefined }) {
  if (!value) return null;
  return <div className="quiet">{label}: <code>{visible(value)}</code></div>;
}

function HistoryEntry({ event, kind }: { event: HistoryEvent; kind: Request["kind"] }) {
  const strings = useRequestStrings();
  const { digest, response } = event.changed;
  return (
    <div data-testid="history-event" data-type={event.type}>
      <Timestamp at={event.at} /> · {actorName(event.actor, strings)} · {describeEvent(event, kind, strings)}
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
    key: event.id, color: eventColours[event.type] ?? "gray", content: <HistoryEntry event={event} kind={request.kind} />,
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

const deliveryColours: Record<Delivery["status"], string> = {
  queued: "processing", waiting: "warning", delivered: "success", failed: "error", gone: "error", disabled: "default",
};

function AttemptItem({ attempt }: { attempt: DeliveryAttempt }) {
  const strings = useRequestStrings();
  const { at, by, error, code, next_at: next } = attempt;
  const result = attempt.status === "queued" ? strings.redeliveredBy(visible(by ?? "")) : visible(error ?? String(code ?? ""));
  return (
    <li data-testid="delivery-attempt" data-status={attempt.status}>
      <Timestamp at={at} /> · {result}
      {next && <> · {strings.nextAttempt} <Timestamp at={next} /></>}
    </li>
  );
}

function DeliveryItem({ delivery, request }: { delivery: Delivery; request: Request }) {
  const strings = useRequestStrings();
  const session = useSession().data;
  const redeliver = useRedeliver(request);
  return (
    <li data-testid="delivery" data-id={delivery.id} data-status={delivery.status}>
      <Flex gap="small" wrap align="center">
        <Tag color={deliveryColours[delivery.status]}>{strings.deliveryStatuses[delivery.status]}</Tag>
        <code>{visible(delivery.type)}</code>
        <span>{visible(delivery.host)}</span>
        {session?.role === "admin" && (
          <Button
            size="small" loading={redeliver.isPending || delivery.status === "queued"} data-testid="redeliver"
            onClick={() => redeliver.mutate(delivery)}
          >
            {strings.redeliver}
          </Button>
        )}
      </Flex>
      {redeliver.error && <div className="error-text" role="alert">{explain(redeliver.error, strings)}</div>}
      <ul className="quiet tries">{delivery.tries.map((attempt) => <AttemptItem key={`${attempt.at} ${attempt.status}`} attempt={attempt} />)}</ul>
    </li>
  );
}

/** The webhook deliveries of this request and their attempts; nothing if there were none. */
export function Deliveries({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const items = useDeliveries(request).data?.items ?? [];
  if (items.length === 0) return null;
  const troubled = items.filter(({ status }) => status !== "delivered").length;
  return (
    <details className="history" data-testid="deliveries">
      <summary className="quiet">{strings.deliveries(items.length, troubled)}</summary>
      <ul className="deliveries">
        {items.map((delivery) => <DeliveryItem key={delivery.id} delivery={delivery} request={request} />)}
      </ul>
    </details>
  );
}
