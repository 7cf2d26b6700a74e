import type { Request, Session } from "../api/types";
import type { Strings } from "../strings";
import { visible } from "../widgets/visible";

/** The actor that replaces a person whose name was erased. */
const erasedPerson = "erased:person";

const agentPrefix = "agent:";
const policyPrefix = "policy:";

/** Return the display name of an actor: `agent:NAME`, `policy:NAME`, `system` or a person. */
export function actorName(actor: string, strings: Strings): string {
  if (actor === "system") return strings.system;
  if (actor === erasedPerson) return strings.erasedPerson;
  if (actor.startsWith(agentPrefix)) return strings.agentNamed(visible(actor.slice(agentPrefix.length)));
  return actor.startsWith(policyPrefix) ? strings.ruleNamed(visible(actor.slice(policyPrefix.length))) : visible(actor);
}

/** Return whether the actor is a thread, whose conversation already shows the person. */
export const isThreadActor = (actor: string) => actor.startsWith("thread:");

type Assignment = Partial<Pick<Request, "assignee" | "candidate_groups">>;

/** Return the names of the people and groups that a request is assigned to; null if everybody may decide. */
export function namesOf({ assignee, candidate_groups: groups }: Assignment, strings: Strings): string | null {
  const names = (groups ?? []).map((group) => strings.groupNamed(visible(group)));
  if (assignee) names.unshift(actorName(assignee, strings));
  return names.length > 0 ? names.join(", ") : null;
}

function isOpenTo(request: Request, { name, groups }: Session): boolean {
  const candidates = request.candidate_groups ?? [];
  if (!request.assignee && candidates.length === 0) return true;
  return request.assignee === name || candidates.some((group) => groups.includes(group));
}

/** Return whether this person can see a request with this assignment. */
export function maySee(request: Request, session: Session): boolean {
  return session.role === "admin" || request.asked_by === session.name || isOpenTo(request, session);
}

/** Return why this person may never decide a request; null if they may. The server checks the same rules. */
export function decisionRefusal(request: Request, session: Session | null | undefined, strings: Strings): string | null {
  if (!session?.role) return null;
  if (session.role === "agent") return strings.agentsCannotDecide;
  if (session.role === "admin" || isOpenTo(request, session)) return null;
  return strings.assignedToOthers(strings.assignedTo(namesOf(request, strings) ?? ""));
}
