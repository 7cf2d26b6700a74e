import type { Request } from "../api/types";
import { sectionOf, type Horizon, type Section } from "../api/lists";
import { declaredCard } from "../request/card";

/** Requests of one list entry: equal ones that one answer decides, or those of one tool in a flood. */
type Bundle = "equal" | "tool";

/** A row that keeps its place even if its request no longer belongs to the list. */
export interface InboxRow {
  request: Request;
  isOutdated: boolean;
  /** The section in which the row was placed; null in a list that is newest first. */
  section: Section | null;
  /** The requests that the row stands for besides the first. */
  others: readonly Request[];
  bundle: Bundle | null;
}

/** How a list is bundled by tool: the time, and the bundles that the person has opened. */
export interface Grouping {
  now: number;
  opened: ReadonlySet<string>;
}

const mostAnHour = 30;
const hour = 3_600_000;

/** Return whether a request is decided by itself because of its tier. */
export const isGrave = ({ tier }: Request) => tier === "high" || tier === "irreversible";

const equalKeys = new WeakMap<Request, string>();

/** Return a key that requests share if one answer can decide them: all that people see is equal; empty if none can. */
export function equalKey(request: Request): string {
  const cached = equalKeys.get(request);
  if (cached !== undefined) return cached;
  const { status, action, form, schema, hold, quorum = [], agent, assignee, groups, digest } = request;
  const isAlone = status !== "pending" || !action || form || schema || hold || quorum.length > 0 || isGrave(request);
  const key = isAlone ? "" : JSON.stringify([agent, assignee, groups, digest]);
  equalKeys.set(request, key);
  return key;
}

/** Return a key that the routine requests of one tool share; empty for one that must stay in sight. */
export function toolKey(request: Request): string {
  const { status, action, agent, priority, first_of_kind: isFirst } = request;
  const isKept = isFirst || isGrave(request) || priority === "high" || priority === "urgent" || declaredCard(request)?.above_limit === true;
  return action && status === "pending" && !isKept ? JSON.stringify([agent, action.name]) : "";
}

const toRow = (request: Request, section: Section | null): InboxRow => ({ request, isOutdated: false, section, others: [], bundle: null });

/** Return the members of a row. */
export const membersOf = ({ request, others }: InboxRow): Request[] => [request, ...others];

function joined(rows: InboxRow[], keyOf: (row: InboxRow) => string, bundle: Bundle): InboxRow[] {
  const members = Map.groupBy(rows, keyOf);
  return rows.flatMap((row) => {
    const key = keyOf(row);
    const all = key ? (members.get(key) ?? [row]) : [row];
    if (all[0] !== row) return [];
    return all.length === 1 ? [row] : [{ ...row, others: all.flatMap(membersOf).slice(1), bundle }];
  });
}

/** Return one row for each request, in order, and one for all equal requests of a section. */
export function equalRows(requests: readonly Request[], horizon: Horizon | null): InboxRow[] {
  const rows = requests.map((request) => toRow(request, horizon && sectionOf(request, horizon)));
  return joined(rows, ({ request, section }) => equalKey(request) && `${section} ${equalKey(request)}`, "equal");
}

/** Bundle the routine requests of each tool if there are, with the rows above, more in the last hour than a person can look at. */
export function withoutFlood(rows: InboxRow[], grouping: Grouping | null, above: readonly InboxRow[] = []): InboxRow[] {
  if (!grouping) return rows;
  const isRecent = ({ created_at: createdAt }: Request) => Date.parse(createdAt) > grouping.now - hour;
  const recent = [...above, ...rows].flatMap((row) => (isRecent(row.request) ? membersOf(row) : []));
  if (recent.length <= mostAnHour) return rows;
  const keyOf = (row: InboxRow) => {
    const key = (row.section === null || row.section === "rest") && isRecent(row.request) ? toolKey(row.request) : "";
    return grouping.opened.has(key) ? "" : key;
  };
  return joined(rows, keyOf, "tool");
}
