import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "./call";
import type { Delivery, DeliveryPage } from "./schema";
import type { Request } from "./types";

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
