import { Button, Flex, Tag, Timeline } from "antd";
import { useState } from "react";
import { useDeliveries, useHistory, useRedeliver, type Delivery, type DeliveryAttempt, type HistoryEvent } from "../api/history";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { CopyButton } from "../widgets/copy-button";
import { Loading } from "../widgets/loading";
import { explain } from "../widgets/problem";
import { Timestamp } from "../widgets/time";
import { visible } from "../base/visible";
import { actorName } from "../widgets/names";
import { describeEvent } from "./history-events";
import { RefusalAlert } from "./notices";

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
