import type { Request, Session, Stage, Vote } from "../api/types";
import type { Strings } from "../strings";
import { visible } from "../widgets/visible";

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
export function recipientsOf(request: Request): { people: string[]; groups: string[] } {
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

const isMember = ({ groups = [] }: Stage, session: Session) => groups.length === 0 || groups.some((group) => session.groups.includes(group));

/** Return why a person cannot agree now, although they may decide: other groups vote. */
export function stageNotice(request: Request, session: Session | null | undefined, strings: Strings): string | null {
  const [stage, ...later] = request.missing ?? [];
  if (!session || !stage || isMember(stage, session) || ownVote(request, session.name)) return null;
  const names = strings.anyOf((stage.groups ?? []).map((group) => strings.groupNamed(visible(group))));
  return later.some((each) => isMember(each, session)) ? strings.votesFirst(names) : strings.votesNow(names);
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
