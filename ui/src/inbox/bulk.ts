import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Person } from "../api/absences";
import { ProblemError, call } from "../api/call";
import { cacheRequest } from "../api/requests";
import type { BulkItem, BulkOutcome, Decision, Request } from "../api/types";
import { visible } from "../base/visible";
import { answerOf, fieldsOf, initialValues } from "../form/values";
import { decisionRefusal, ownPart, stageNotice } from "../request/assignment";
import { outcomeOf } from "../request/outcome";
import { type Strings, useStrings } from "../strings";
import { explain } from "../widgets/problem";
import { isGrave } from "./flood";

export type BulkDecision = Extract<Decision, "approve" | "reject">;

/** The status of one request in a bulk decision. */
export interface BulkStatus {
  state: "sending" | "decided" | "skipped" | "unknown";
  why?: string;
  /** The request's version at that time; a later version replaces this status. */
  version?: number;
}

function otherClaimant(request: Request, me: string | undefined): string | null {
  const { claimed_by: holder, claimed_until: until } = request;
  return holder && holder !== me && (!until || Date.parse(until) > Date.now()) ? holder : null;
}

/** Return why a request cannot be decided in bulk; null if it can. */
export function bulkRefusal(request: Request, verdict: BulkDecision, person: Person | null | undefined, strings: Strings): string | null {
  const { bulkRefusals } = strings;
  if (request.status !== "pending") return outcomeOf(request, null, strings);
  const refused = decisionRefusal(request, person, strings);
  if (refused) return refused;
  const holder = otherClaimant(request, person?.name);
  if (holder) return strings.claimedBy(visible(holder));
  if (verdict === "approve" && stageNotice(request, person, strings)) return stageNotice(request, person, strings);
  if (request.held || ownPart(request, person?.name)) return request.held ? strings.heldVote : strings.ownVote;
  if (isGrave(request)) return bulkRefusals.tier;
  if (request.schema || fieldsOf(request).some((field) => field.required)) return bulkRefusals.form;
  if (!request.allowed.includes(verdict)) return bulkRefusals.decisions;
  // The list does not know which insights contradict each other: only their conversation does.
  return request.kind === "learning" && verdict === "approve" ? bulkRefusals.learning : null;
}

/** Return the answer to one request, bound to the digest that was on screen. */
export function toBulkItem(request: Request, verdict: BulkDecision, message: string): BulkItem {
  const item: BulkItem = { id: request.id, digest: request.digest, decision: verdict };
  if (verdict === "reject") return message.trim() ? { ...item, message } : item;
  return request.form ? { ...item, data: answerOf(fieldsOf(request), initialValues(fieldsOf(request))) } : item;
}

const limits = { items: 100, bytes: 200_000 };

/** Split answers into calls within the server's limits of count and size. */
export function toBatches(items: readonly BulkItem[]): BulkItem[][] {
  const batches: BulkItem[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = new Blob([JSON.stringify(item)]).size + 1;
    const last = batches.at(-1);
    if (last && last.length < limits.items && bytes + size <= limits.bytes) {
      last.push(item);
      bytes += size;
    } else {
      batches.push([item]);
      bytes = size;
    }
  }
  return batches;
}

/** Return the status for the server's reply to one answer. */
export function toBulkStatus(request: Request, { status, problem }: BulkOutcome, strings: Strings): BulkStatus {
  if (status === 200 || status === 202) return { state: "decided" };
  const { version } = request;
  const { code, winner } = problem ?? {};
  if (code === "digest_mismatch") return { state: "skipped", why: strings.bulk.changed, version };
  const outcome = code === "final" && winner ? outcomeOf(request, winner, strings) : null;
  return { state: "skipped", why: outcome ?? explain(new ProblemError(status, problem ?? {}), strings), version };
}

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
