import { Button, Flex, Tag } from "antd";
import { useDeliveries, useRedeliver, type Delivery, type DeliveryAttempt } from "../api/history";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { visible } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { explain } from "../widgets/problem";
import { Timestamp } from "../widgets/timestamp";

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
