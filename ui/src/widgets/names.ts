import type { Request } from "../api/types";
import { visible } from "../base/visible";
import type { Strings } from "../strings";

/** The actor that replaces a person whose name was erased. */
const erasedPerson = "erased:person";

const agentPrefix = "agent:";

const policyPrefix = "policy:";

const grantPrefix = "policy:grant:";

/** Return the words for a policy's rule without a name, which is known by its position; null for one with a name. */
export function namelessRule(rule: string, strings: Strings): string | null {
  const position = /^rules\[(\d+)\]$/.exec(rule)?.[1];
  if (position !== undefined) return strings.ruleNumbered(Number(position) + 1);
  return rule === "otherwise" ? strings.ruleDefault : null;
}

const ruleName = (rule: string, strings: Strings) => namelessRule(rule, strings) ?? strings.ruleNamed(visible(rule));

/** Return the display name of an actor: `agent:NAME`, `policy:NAME`, `system` or a person. */
export function actorName(actor: string, strings: Strings): string {
  if (actor === "system") return strings.system;
  if (actor === erasedPerson) return strings.erasedPerson;
  if (actor.startsWith(agentPrefix)) return strings.agentNamed(visible(actor.slice(agentPrefix.length)));
  if (actor.startsWith(grantPrefix)) return strings.earlierApproval;
  return actor.startsWith(policyPrefix) ? ruleName(actor.slice(policyPrefix.length), strings) : visible(actor);
}

/** Return whether the actor is the token of an agent, and no person. */
export const isAgentActor = (actor: string) => actor.startsWith(agentPrefix);

/** Return whether the actor is a thread, whose conversation already shows the person. */
export const isThreadActor = (actor: string) => actor.startsWith("thread:");

type Assignment = Partial<Pick<Request, "assignee" | "groups">>;

/** Return the names of the people and groups that a request is assigned to; null if everybody may decide. */
export function namesOf({ assignee, groups }: Assignment, strings: Strings): string | null {
  const names = (groups ?? []).map((group) => strings.groupNamed(visible(group)));
  if (assignee) names.unshift(actorName(assignee, strings));
  return names.length > 0 ? names.join(", ") : null;
}
