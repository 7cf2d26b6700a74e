import type { Winner } from "../api/call";
import type { Request } from "../api/types";
import type { Strings } from "../strings";
import { clock } from "../widgets/time";
import { visible } from "../widgets/visible";
import { actorName } from "./people";

function ended({ kind }: Request, winner: Winner, strings: Strings): string {
  const words = kind === "finish" ? strings.decidedFinish : strings.decided;
  const what = winner.decision ? words[winner.decision] : strings.statuses.completed;
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

export const reasonOf = (reason: string, strings: Strings) =>
  (reason === "superseded" ? strings.superseded : visible(reason));
