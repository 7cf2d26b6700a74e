import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { call, isStatus } from "../api/call";
import { cacheRequest, dropRequest } from "../api/requests";
import { usePerson, type Person } from "../api/absences";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import type { Strings } from "../strings";
import { authorityOf, exclusionOf, isOpenTo } from "./voting";
import { namesOf } from "../widgets/names";

/** Return whether this person can see a request with this assignment. */
function maySee(request: Request, person: Person): boolean {
  return person.role === "admin" || person.role === "auditor" || request.asked_by === person.name || isOpenTo(request, person);
}

/** Return why this person may never decide a request; null if they may. The server checks the same rules. */
export function decisionRefusal(request: Request, person: Person | null | undefined, strings: Strings): string | null {
  if (!person?.role) return null;
  if (person.role === "agent") return strings.agentsCannotDecide;
  if (person.role === "auditor") return strings.auditorsCannotDecide;
  const exclusion = exclusionOf(request, person.name);
  if (exclusion) return strings.excluded[exclusion];
  if (person.role === "admin" || isOpenTo(request, person)) return authorityOf(request, person) ? null : strings.excluded.deputy;
  return strings.assignedToOthers(strings.assignedTo(namesOf(request, strings) ?? ""));
}

/** Return whether a time has passed. The component renders again only when it does. */
function useHasPassed(at: string | null | undefined): boolean {
  const time = at ? Date.parse(at) : Number.POSITIVE_INFINITY;
  const subscribe = useCallback((changed: () => void) => {
    const wait = time - Date.now();
    // A timer of more than 31 bits of milliseconds would fire at once.
    const timer = wait > 0 && wait < 2 ** 31 ? setTimeout(changed, wait + 100) : undefined;
    return () => clearTimeout(timer);
  }, [time]);
  return useSyncExternalStore(subscribe, () => time <= Date.now());
}

interface Claimant {
  name: string;
  until: string | null;
  isMe: boolean;
}

/** Return the person who has claimed the request; null if nobody has. */
export function useClaimant(request: Request): Claimant | null {
  const me = useSession().data?.name;
  const { claimed_by: name, claimed_until: until } = request;
  const isOver = useHasPassed(until);
  return !name || isOver ? null : { name, until: until ?? null, isMe: name === me };
}

interface AssignmentChange {
  verb: "claim" | "release" | "reassign";
  body?: { assignee?: string; candidate_groups?: string[]; unknown?: true };
}

/**
 * Claim, release or reassign a request.
 *
 * `onMoved` is called even after the component unmounted, because the feed may be faster than the reply.
 */
export function useAssignment({ id }: Request, onMoved?: (changed: Request, maySee: boolean) => void) {
  const client = useQueryClient();
  const person = usePerson();
  return useMutation({
    mutationFn: ({ verb, body }: AssignmentChange) =>
      call<Request>("POST", `/v1/requests/${encodeURIComponent(id)}/${verb}`, body),
    onSuccess: (changed) => {
      const isSeen = !person || maySee(changed, person);
      if (isSeen) cacheRequest(client, changed);
      else dropRequest(client, changed.id);
      onMoved?.(changed, isSeen);
    },
    onError: (error) => {
      if (isStatus(error, 409)) void client.invalidateQueries({ queryKey: ["request", id] });
    },
  });
}

export interface ClaimState {
  claimant: Claimant | null;
  claim: () => void;
  release: () => void;
  /** The change that is being sent. */
  pendingVerb: AssignmentChange["verb"] | null;
  error: Error | null;
}

/** Claim and release a request. */
export function useClaim(request: Request): ClaimState {
  const move = useAssignment(request);
  const pendingVerb = move.isPending ? move.variables.verb : null;
  // The feed may show a claim before the reply arrives; a release must not wait for that reply.
  const go = (verb: AssignmentChange["verb"]) => () => {
    if (pendingVerb !== verb) move.mutate({ verb });
  };
  return { claimant: useClaimant(request), claim: go("claim"), release: go("release"), pendingVerb, error: move.error };
}
