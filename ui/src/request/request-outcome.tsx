import type { ReactNode } from "react";
import type { Winner } from "../api/call";
import { useHistory, type HistoryEvent } from "../api/history";
import type { Request } from "../api/types";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { JsonValue } from "../widgets/json-value";
import { actorName } from "../widgets/names";
import { clock } from "../widgets/time";
import { allowsExecution } from "./decisions";
import { outcomeOf, reasonOf } from "./outcome";

interface RequestOutcome {
  /** The outcome with its actor and time. */
  title: string;
  /** The reason and the consequences. */
  lines: ReactNode[];
}

/** Return the event that cancelled the request; only the history names its actor. */
function withdrawalOf(events: HistoryEvent[] | undefined): HistoryEvent | undefined {
  return events?.findLast(({ type }) => type === "request.cancelled");
}

export function titleOf(request: Request, end: HistoryEvent | undefined, strings: RequestStrings): string | null {
  const { status, ended_at: endedAt } = request;
  if (status === "expired" && endedAt) return strings.expiredAt(clock(endedAt, strings.language));
  if (!end) return null;
  return strings.outcomeText(strings.statuses.cancelled, actorName(end.actor, strings), clock(end.at, strings.language));
}

function consequence(request: Request, strings: RequestStrings): ReactNode {
  const { status, fallback } = request;
  if (status === "cancelled") return allowsExecution(request) ? strings.cancelledWithoutRun : null;
  if (status !== "expired") return null;
  if (fallback) return <>{strings.fallbackUsed} <JsonValue value={fallback} testId="fallback" /></>;
  return allowsExecution(request) ? strings.expiredWithoutRun : strings.requesterNotified;
}

/** Return how a request ended and what followed; null while it is open. */
export function useRequestOutcome(request: Request, winner: Winner | null): RequestOutcome | null {
  const strings = useRequestStrings();
  const end = withdrawalOf(useHistory(request, request.status === "cancelled").data);
  const title = titleOf(request, end, strings) ?? outcomeOf(request, winner, strings);
  if (title === null) return null;
  const why = end && request.reason ? reasonOf(request.reason, strings) : null;
  const after = request.acknowledged_at ? strings.runContinuedAt(clock(request.acknowledged_at, strings.language)) : null;
  return { title, lines: [why, consequence(request, strings), after].filter(Boolean) };
}

/** The lines of an outcome, one below the other. */
export function OutcomeLines({ lines }: { lines: ReactNode[] }) {
  return <>{lines.map((line, index) => <p key={typeof line === "string" ? line : index}>{line}</p>)}</>;
}
