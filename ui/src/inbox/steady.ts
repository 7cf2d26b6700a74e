import { isBefore } from "../api/lists";
import type { Request } from "../api/types";

/** A row that stays where it is, also when its request no longer belongs to the list. */
export interface Row {
  request: Request;
  left: boolean;
}

export interface Shown {
  rows: readonly Row[];
  /** What came since, and waits until the person wants it. */
  fresh: readonly Request[];
}

const standing = (request: Request): Row => ({ request, left: false });

/** What is shown when nothing has to be held still. */
export const renewed = (listed: readonly Request[]): Shown => ({ rows: listed.map(standing), fresh: [] });

function held(row: Row, listed: Request | undefined, latest: Request | undefined): Row {
  const request = listed ?? latest ?? row.request;
  const left = listed === undefined;
  return request === row.request && left === row.left ? row : { request, left };
}

/**
 * Return what is shown once the list is `listed`: no row moves or goes.
 *
 * What is older is added below, where nobody looks yet; what is new waits in `fresh`.
 */
export function followed(
  { rows }: Shown, listed: readonly Request[], latest: (id: string) => Request | undefined,
): Shown {
  const last = rows.at(-1)?.request;
  if (!last) return renewed(listed);
  const now = new Map(listed.map((request) => [request.id, request]));
  const still = rows.map((row) => held(row, now.get(row.request.id), latest(row.request.id)));
  const known = new Set(rows.map((row) => row.request.id));
  const unknown = listed.filter((request) => !known.has(request.id));
  const older = unknown.filter((request) => isBefore(last, request));
  return { rows: [...still, ...older.map(standing)], fresh: unknown.filter((request) => isBefore(request, last)) };
}

/** Let the rows go that no longer belong to the list, and the one that was just decided. */
export function tidied({ rows, fresh }: Shown, decided: string): Shown {
  return { rows: rows.filter((row) => !row.left && row.request.id !== decided), fresh };
}

/** The row to open after this one: the next that is still to decide, else the one before. */
export function neighbour(rows: readonly Row[], id: string): Request | undefined {
  const at = rows.findIndex((row) => row.request.id === id);
  const open = (row: Row) => !row.left && row.request.id !== id && row.request.status === "pending";
  return (rows.slice(at + 1).find(open) ?? rows.slice(0, Math.max(at, 0)).findLast(open))?.request;
}
