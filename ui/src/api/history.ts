import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "./call";
import type { Delivery, DeliveryPage } from "./schema";
import type { AuditEvent, Page, Request } from "./types";

/** One change of a request: actor, time and changed fields. */
export type HistoryEvent = Omit<AuditEvent, "changed"> & { changed: Partial<Request> };

async function readAll(id: string, after?: string): Promise<HistoryEvent[]> {
  const query = new URLSearchParams({ request_id: id, limit: "200", ...(after !== undefined && { after }) });
  const { items, next } = await call<Page<HistoryEvent>>("GET", `/v1/audit?${query.toString()}`);
  return next === null ? items : [...items, ...await readAll(id, next)];
}

/** Read the history of a request; each new version reads it again. */
export function useHistory(request: Request, enabled: boolean) {
  const { id, version } = request;
  return useQuery({
    queryKey: ["history", id, version], queryFn: () => readAll(id), enabled, placeholderData: (before) => before,
  });
}

export type { Delivery };
export type DeliveryAttempt = Delivery["tries"][number];

const isUnderWay = ({ status }: Delivery) => status === "queued" || status === "waiting";

/** The webhook deliveries of a request, polled while one is unfinished. */
export function useDeliveries(request: Request) {
  return useQuery({
    queryKey: ["deliveries", request.id, request.version],
    queryFn: () => call<DeliveryPage>("GET", `/v1/deliveries?${new URLSearchParams({ request_id: request.id }).toString()}`),
    placeholderData: (before) => before,
    refetchInterval: ({ state }) => (state.data?.items.some(isUnderWay) ? 3_000 : false),
  });
}

export function useRedeliver(request: Request) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (delivery: Delivery) =>
      call<Delivery>("POST", `/v1/deliveries/${encodeURIComponent(delivery.id)}/redeliver`),
    onSettled: () => client.invalidateQueries({ queryKey: ["deliveries", request.id] }),
  });
}
