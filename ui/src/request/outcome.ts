import type { Winner } from "../api/call";
import type { Decision, Request } from "../api/types";
import type { Strings } from "../strings";
import { clock } from "../widgets/time";
import { visible } from "../base/visible";
import { actorName } from "../widgets/names";
import { voterName, winningVotes } from "./assignment";
import { reasonText, translated } from "../strings/catalogue";

/** Return whether the answer is only data: nothing runs because of it. */
export const isForm = ({ kind, action }: Pick<Request, "kind" | "action">) => kind === "form" && !action;

/** Return the label of a decision that was made; forms and the finish gate have their own labels. */
export function decisionLabel(request: Pick<Request, "kind" | "action">, decision: Decision, strings: Strings): string {
  if (request.kind === "finish") return strings.decidedFinish[decision];
  return (isForm(request) ? strings.decidedForm : strings.decided)[decision];
}

/** Return the names of all who decided, with those for whom deputies did. */
function deciders(request: Request, winner: Winner, strings: Strings): string | null {
  const votes = winningVotes(request);
  if (votes.length > 0) return strings.listed(votes.map((vote) => voterName(vote, strings)));
  if (request.response?.for) return voterName(request.response, strings);
  return winner.responder ? actorName(winner.responder, strings) : null;
}

function describeWinner(request: Request, winner: Winner, strings: Strings): string {
  const what = winner.decision ? decisionLabel(request, winner.decision, strings) : strings.statuses.completed;
  const who = deciders(request, winner, strings);
  return strings.outcomeText(what, who, winner.at ? clock(winner.at, strings.language) : null);
}

/** Return one line that says how a request ended, by whom and when; null while it is open. */
export function outcomeOf(request: Request, winner: Winner | null, strings: Strings): string | null {
  if (request.response) return describeWinner(request, request.response, strings);
  if (request.status === "expired") return strings.expiredUnanswered;
  const { reason } = request;
  if (request.status === "cancelled" && reason) return strings.cancelledBecause(reasonOf(reason, strings));
  if (request.status !== "pending") return strings.statuses[request.status];
  return winner ? describeWinner(request, winner, strings) : null;
}

/** Return why a request was cancelled: known reasons translated, a person's reason as written. */
export function reasonOf(reason: string, strings: Strings): string {
  if (reason === "superseded") return strings.superseded;
  return visible(reasonText(reason, strings));
}

/** Return whether the whole request was erased, and not only one person's part of it. */
export const isFullyErased = ({ erased }: Request) => Boolean(erased && erased.rule !== "person");

/** Return the title to show; the title of an erased request is not an agent's text. */
export const titleOf = (request: Request, strings: Strings) =>
  (isFullyErased(request) ? strings.erasedTitle : visible(translated(request.title, request.wording, "title", strings)));
