import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { type Person, usePerson } from "../api/absences";
import { call, isStatus } from "../api/call";
import { cacheRequest, dropRequest } from "../api/requests";
import { useSession } from "../api/session";
import type { Absence, Request, Session, Stage, Vote } from "../api/types";
import { visible } from "../base/visible";
import type { Strings } from "../strings";
import { namesOf } from "../widgets/names";

const groupPrefix = "group:";

/** Return whether several people decide a request. */
export const needsVotes = ({ quorum = [] }: Request) => quorum.length > 0;

/** Return the person's own vote on a pending request. */
export const ownVote = ({ status, votes = [] }: Request, name: string | undefined): Vote | undefined =>
  (status === "pending" ? votes.find(({ responder }) => responder === name) : undefined);

/** What a person has done on a request that is still pending: answered with time to undo, or voted. */
export type OwnPart = "held" | "voted" | null;

export function ownPart(request: Request, name: string | undefined): OwnPart {
  if (request.status === "pending" && request.held?.responder === name && request.held) return "held";
  return ownVote(request, name) ? "voted" : null;
}

/** Return the people and groups to whom a request is open; both are empty if it is open to everybody. */
function recipientsOf(request: Request): { people: string[]; groups: string[] } {
  const { assignee, groups: candidates = [], escalation = [], escalated = 0, quorum = [] } = request;
  if (!assignee && candidates.length === 0) return { people: [], groups: [] };
  const added = escalation.slice(0, escalated).flatMap(({ to }) => to);
  return {
    people: [...(assignee ? [assignee] : []), ...added.filter((name) => !name.startsWith(groupPrefix))],
    groups: [
      ...candidates, ...quorum.flatMap(({ groups = [] }) => groups),
      ...added.filter((name) => name.startsWith(groupPrefix)).map((name) => name.slice(groupPrefix.length)),
    ],
  };
}

/** Return the names of the recipients of an escalation, of which some are groups. */
export function recipientNames(to: string[], strings: Strings): string {
  return strings.listed(to.map((name) => (name.startsWith(groupPrefix)
    ? strings.groupNamed(visible(name.slice(groupPrefix.length)))
    : visible(name))));
}

/** Return the rule that excludes a person from deciding. */
export function exclusionOf({ exclude = [], starter, asked_by: asker }: Request, name: string): "starter" | "asker" | null {
  if (exclude.includes("starter") && starter === name) return "starter";
  // An agent that asks outside of a run does not say for whom: the asker counts as the starter.
  return asker === name && (exclude.includes("asker") || (exclude.includes("starter") && !starter)) ? "asker" : null;
}

/** The person in whose name somebody decides: themselves, or a person for whom they stand. */
interface Authority {
  name: string;
  groups: string[];
  /** The absence because of which a deputy decides; null for oneself. */
  absence: Absence | null;
}

function authoritiesOf(request: Request, { name, groups, deputyFor }: Person): Authority[] {
  const { people, groups: open } = recipientsOf(request);
  const all = [{ name, groups, absence: null }, ...deputyFor.map((absence) => ({ name: absence.person, groups: absence.groups, absence }))];
  if (people.length === 0 && open.length === 0) return all;
  return all.filter((each) => people.includes(each.name) || each.groups.some((group) => open.includes(group)));
}

/** Return whether a request is open to this person, or to somebody for whom they stand. */
const isOpenTo = (request: Request, person: Person) => authoritiesOf(request, person).length > 0;

/** Return in whose name a person decides, as the server does; null if the rules leave nobody. */
export function authorityOf(request: Request, person: Person, { groups = [] }: Stage = {}): Authority | null {
  const able = authoritiesOf(request, person);
  // An administrator decides what is open to others.
  const all = able.length > 0 ? able : [{ name: person.name, groups: person.groups, absence: null }];
  const voting = all.filter((each) => groups.length === 0 || each.groups.some((group) => groups.includes(group)));
  return voting.find(({ name, absence }) => !absence || !exclusionOf(request, name)) ?? null;
}

/** Return the latest edit of somebody else with which this person has not agreed yet. */
export function proposedEdit({ votes = [] }: Request, name: string): Vote | undefined {
  const own = votes.find(({ responder }) => responder === name)?.authorised_digest;
  return votes.findLast((vote) => vote.decision === "edit" && vote.responder !== name && vote.authorised_digest !== own);
}

/** Return the vote of somebody else that counts for one of these people already. */
function voteFor({ votes = [] }: Request, me: string, names: string[]): Vote | undefined {
  return votes.find(({ responder, for: person }) => responder !== me && (names.includes(responder) || (person && names.includes(person))));
}

/** Return why a person cannot agree now, although they may decide: other groups vote, or their vote counts already. */
export function stageNotice(request: Request, person: Person | null | undefined, strings: Strings): string | null {
  const [stage, ...later] = request.missing ?? [];
  if (!person || !stage || ownVote(request, person.name)) return null;
  const authority = authorityOf(request, person, stage);
  const counted = authority && voteFor(request, person.name, [person.name, authority.name]);
  if (counted) return strings.away.voted(voterName(counted, strings));
  if (authority) return null;
  const names = strings.anyOf((stage.groups ?? []).map((group) => strings.groupNamed(visible(group))));
  return later.some((each) => authorityOf(request, person, each)) ? strings.votesFirst(names) : strings.votesNow(names);
}

/** Return whether the request still waits for this person. */
export function waitsFor(request: Request, session: Session | null | undefined): boolean {
  if (request.held) return false;
  return !session || (!ownPart(request, session.name) && !exclusionOf(request, session.name));
}

/** Return the name of a voter, with the person for whom a deputy votes. */
export function voterName({ responder, for: person }: Pick<Vote, "responder" | "for">, strings: Strings): string {
  return person ? strings.deputy(visible(responder), visible(person)) : visible(responder);
}

/** Return the votes of the decision that ended a request, the last one last. */
export function winningVotes({ response, votes = [] }: Request): Vote[] {
  if (!response?.voters?.length) return [];
  return votes.filter(({ authorised_digest: digest }) => digest === response.authorised_digest);
}

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
  body?: { assignee?: string; groups?: string[]; unknown?: true };
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
