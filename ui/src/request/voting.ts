import type { Person } from "../api/absences";
import type { Absence, Request, Session, Stage, Vote } from "../api/types";
import type { Strings } from "../strings";
import { visible } from "../base/visible";

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
  const { assignee, candidate_groups: candidates = [], escalation = [], escalated = 0, quorum = [] } = request;
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
export const isOpenTo = (request: Request, person: Person) => authoritiesOf(request, person).length > 0;

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
