import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/call";
import { keep } from "../api/requests";
import type { BulkItem, BulkOutcome, Request } from "../api/types";
import { useStrings } from "../strings";
import { explain } from "../widgets/problem";
import { fateOf, itemFor, parts, type Fate, type Verdict } from "./bulk";

export type Fates = ReadonlyMap<string, Fate>;

export interface Bulk {
  fates: Fates;
  /** Decide each on its own and return the ids of those that are decided; `fates` tells of each as soon as it is known. */
  decide: (requests: readonly Request[], verdict: Verdict, message: string) => Promise<ReadonlySet<string>>;
}

function useSend() {
  return useMutation({
    mutationFn: (items: BulkItem[]) => call<{ items: BulkOutcome[] }>("POST", "/v1/requests/respond", { items }),
  });
}

export function useBulk(): Bulk {
  const client = useQueryClient();
  const strings = useStrings();
  const { mutateAsync } = useSend();
  const [fates, setFates] = useState<Fates>(new Map());
  const tell = (told: Iterable<readonly [string, Fate]>) => setFates((old) => new Map([...old, ...told]));

  const sendPart = async (items: BulkItem[], requests: ReadonlyMap<string, Request>) => {
    const { items: results } = await mutateAsync(items);
    for (const { request } of results) if (request) keep(client, request);
    tell(results.flatMap((result) => {
      const request = requests.get(result.id ?? "");
      return request ? [[request.id, fateOf(request, result, strings)] as const] : [];
    }));
    return results.flatMap(({ id, status }) => (status === 200 && id ? [id] : []));
  };

  const decide: Bulk["decide"] = async (requests, verdict, message) => {
    const known = new Map(requests.map((request) => [request.id, request]));
    const waiting = parts(requests.map((request) => itemFor(request, verdict, message)));
    const decided = new Set<string>();
    tell(requests.map(({ id }) => [id, { state: "sending" }] as const));
    try {
      // One after the other: a server that is going under shall not get all of them at once.
      while (waiting[0]) {
        const done = await sendPart(waiting[0], known); // eslint-disable-line no-await-in-loop
        for (const id of done) decided.add(id);
        waiting.shift();
      }
    } catch (error) {
      const why = explain(error, strings);
      tell(waiting.flat().map(({ id }) => [id, { state: "unknown", why: `${strings.bulk.unknown} ${why}` }] as const));
    }
    return decided;
  };
  return { fates, decide };
}
