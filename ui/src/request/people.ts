import type { Request, Session } from "../api/types";
import type { Strings } from "../strings";
import { visible } from "../widgets/visible";

/** In place of a person whose name was erased. */
const somebody = "erased:person";

const agent = "agent:";
const rule = "policy:";

/** An actor as a person reads it: agents are named `agent:NAME`, rules `policy:NAME`, and nobody is `system`. */
export function actorName(actor: string, strings: Strings): string {
  if (actor === "system") return strings.system;
  if (actor === somebody) return strings.erasedPerson;
  if (actor.startsWith(agent)) return strings.agentNamed(visible(actor.slice(agent.length)));
  return actor.startsWith(rule) ? strings.ruleNamed(visible(actor.slice(rule.length))) : visible(actor);
}

/** Whether something is done for a conversation, in a thread beside it: the conversation says for whom. */
export const isThread = (actor: string) => actor.startsWith("thread:");

type Given = Partial<Pick<Request, "assignee" | "candidate_groups">>;

/** For whom a request is; null when it is for everybody. */
export function namesOf({ assignee, candidate_groups: groups }: Given, strings: Strings): string | null {
  const names = (groups ?? []).map((group) => strings.groupNamed(visible(group)));
  if (assignee) names.unshift(actorName(assignee, strings));
  return names.length > 0 ? names.join(", ") : null;
}

function isOpenTo(request: Request, { name, groups }: Session): boolean {
  const offered = request.candidate_groups ?? [];
  if (!request.assignee && offered.length === 0) return true;
  return request.assignee === name || offered.some((group) => groups.includes(group));
}

/** Whether this person still sees a request that is given to these people. */
export function maySee(request: Request, session: Session): boolean {
  return session.role === "admin" || request.asked_by === session.name || isOpenTo(request, session);
}

/** Why this person may never decide it; null where they may. The server checks the same and has the last word. */
export function refusedTo(request: Request, session: Session | null | undefined, strings: Strings): string | null {
  if (!session?.role) return null;
  if (session.role === "agent") return strings.agentsDoNotDecide;
  if (session.role === "admin" || isOpenTo(request, session)) return null;
  return strings.forOthers(strings.assignedTo(namesOf(request, strings) ?? ""));
}
