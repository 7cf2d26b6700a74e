import type { ReactNode } from "react";
import type { Winner } from "../api/call";
import type { Request } from "../api/types";
import { useStrings, type Strings } from "../strings";
import { JsonValue } from "../widgets/agent-text";
import { clock } from "../widgets/time";
import { outcomeOf, reasonOf } from "./outcome";
import { actorName } from "./people";
import { useHistory, type HistoryEvent } from "./use-history";
import { isGated } from "./values";

export interface Ending {
  /** How it ended, by whom and when. */
  title: string;
  /** Why, and what happened because of it. */
  lines: ReactNode[];
}

/** Who ended it and when: only the history knows, for a request that ended without an answer. */
function endOf(events: HistoryEvent[] | undefined): HistoryEvent | undefined {
  return events?.findLast(({ type }) => type === "request.expired" || type === "request.cancelled");
}

function titleOf(request: Request, end: HistoryEvent | undefined, strings: Strings): string | null {
  if (!end || request.response) return null;
  const when = clock(end.at, strings.language);
  if (request.status === "expired") return strings.expiredAt(when);
  return strings.ended(strings.statuses.cancelled, actorName(end.actor, strings), when);
}

function consequence(request: Request, strings: Strings): ReactNode {
  const { status, fallback } = request;
  if (status === "cancelled") return isGated(request) ? strings.nothingRanCancelled : null;
  if (status !== "expired") return null;
  if (fallback !== undefined && fallback !== null) return <>{strings.fallbackUsed} <JsonValue value={fallback} testId="fallback" /></>;
  return isGated(request) ? strings.nothingRan : strings.runTold;
}

/** How a request ended and what came of it; null while it is open. */
export function useEnding(request: Request, winner: Winner | null): Ending | null {
  const strings = useStrings();
  const isSilent = request.status === "expired" || request.status === "cancelled";
  const end = endOf(useHistory(request, isSilent).data);
  const title = titleOf(request, end, strings) ?? outcomeOf(request, winner, strings);
  if (title === null) return null;
  const why = request.status === "cancelled" && request.reason && end ? reasonOf(request.reason, strings) : null;
  const after = request.acknowledged_at ? strings.takenUp(clock(request.acknowledged_at, strings.language)) : null;
  return { title, lines: [why, consequence(request, strings), after].filter(Boolean) };
}

/** The lines of an ending, one below the other. */
export function EndingLines({ lines }: { lines: ReactNode[] }) {
  return <>{lines.map((line, index) => <p key={typeof line === "string" ? line : index}>{line}</p>)}</>;
}
