import type { Winner } from "../api/call";
import type { Decision, Request } from "../api/types";
import type { Strings } from "../strings";
import { clock } from "../widgets/time";
import { visible } from "../widgets/visible";
import { actorName } from "./people";

/** What a decision did: at the end of a task each has a word of its own. */
export const decidedOf = (kind: Request["kind"], decision: Decision, strings: Strings) =>
  (kind === "finish" ? strings.decidedFinish : strings.decided)[decision];

function ended({ kind }: Request, winner: Winner, strings: Strings): string {
  const what = winner.decision ? decidedOf(kind, winner.decision, strings) : strings.statuses.completed;
  const who = winner.responder ? actorName(winner.responder, strings) : null;
  return strings.ended(what, who, winner.at ? clock(winner.at, strings.language) : null);
}

/** One line that says how a request ended, by whom and when; null while it is open. */
export function outcomeOf(request: Request, winner: Winner | null, strings: Strings): string | null {
  if (request.response) return ended(request, request.response, strings);
  if (request.status === "expired") return strings.expiredNobody;
  const { reason } = request;
  if (request.status === "cancelled" && reason) return strings.cancelledBecause(reasonOf(reason, strings));
  if (request.status !== "pending") return strings.statuses[request.status];
  return winner ? ended(request, winner, strings) : null;
}

/** Why a request was withdrawn: what the server gives as its reason in this person's language, a person's as it is. */
export function reasonOf(reason: string, strings: Strings): string {
  if (reason === "superseded") return strings.superseded;
  if (reason === "the run failed") return strings.runFailed;
  return visible(reason.replace(/^the thread was cancelled/, strings.threadCancelled));
}
