import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/call";
import { cacheRequest } from "../api/requests";
import type { BulkItem, BulkOutcome, Request } from "../api/types";
import { useStrings } from "../strings";
import { explain } from "../widgets/problem";
import { toBulkStatus, toBulkItem, toBatches, type BulkStatus, type BulkDecision } from "./bulk";

type BulkStatuses = ReadonlyMap<string, BulkStatus>;

export interface BulkDecisions {
  statuses: BulkStatuses;
  /** Decide each request and return the ids of the decided ones; `statuses` has each result as soon as it is known. */
  decide: (requests: readonly Request[], verdict: BulkDecision, message: string) => Promise<ReadonlySet<string>>;
}

function useSend() {
  return useMutation({
    mutationFn: (items: BulkItem[]) => call<{ items: BulkOutcome[] }>("POST", "/v1/requests/respond", { items }),
  });
}

export function useBulk(): BulkDecisions {
  const client = useQueryClient();
  const strings = useStrings();
  const { mutateAsync } = useSend();
  const [statuses, setStatuses] = useState<BulkStatuses>(new Map());
  const report = (entries: Iterable<readonly [string, BulkStatus]>) => setStatuses((old) => new Map([...old, ...entries]));

  const sendBatch = async (items: BulkItem[], requests: ReadonlyMap<string, Request>) => {
    const { items: results } = await mutateAsync(items);
    for (const { request } of results) if (request) cacheRequest(client, request);
    report(results.flatMap((result) => {
      const request = requests.get(result.id ?? "");
      return request ? [[request.id, toBulkStatus(request, result, strings)] as const] : [];
    }));
    return results.flatMap(({ id, status }) => (status === 200 && id ? [id] : []));
  };

  const decide: BulkDecisions["decide"] = async (requests, verdict, message) => {
    const requestsById = new Map(requests.map((request) => [request.id, request]));
    const batches = toBatches(requests.map((request) => toBulkItem(request, verdict, message)));
    const decided = new Set<string>();
    report(requests.map(({ id }) => [id, { state: "sending" }] as const));
    try {
      // One batch after the other, so that an overloaded server does not get all of them at once.
      while (batches[0]) {
        const done = await sendBatch(batches[0], requestsById); // eslint-disable-line no-await-in-loop
        for (const id of done) decided.add(id);
        batches.shift();
      }
    } catch (error) {
      const why = explain(error, strings);
      report(batches.flat().map(({ id }) => [id, { state: "unknown", why: `${strings.bulk.unknown} ${why}` }] as const));
    }
    return decided;
  };
  return { statuses, decide };
}
