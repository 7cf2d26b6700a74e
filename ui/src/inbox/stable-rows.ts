import { isBefore } from "../api/lists";
import type { Request } from "../api/types";

/** A row that keeps its place even if its request no longer belongs to the list. */
export interface InboxRow {
  request: Request;
  isOutdated: boolean;
}

export interface RowState {
  rows: readonly InboxRow[];
  /** New requests that wait until the person shows them. */
  newRequests: readonly Request[];
}

const toRow = (request: Request): InboxRow => ({ request, isOutdated: false });

/** Return rows that equal the list. */
export const resetRows = (listed: readonly Request[]): RowState => ({ rows: listed.map(toRow), newRequests: [] });

function updateRow(row: InboxRow, listed: Request | undefined, latest: Request | undefined): InboxRow {
  const request = listed ?? latest ?? row.request;
  const isOutdated = listed === undefined;
  return request === row.request && isOutdated === row.isOutdated ? row : { request, isOutdated };
}

/**
 * Merge the current list into the rows without moving or removing a row.
 *
 * Older requests are appended; new ones wait in `newRequests`.
 */
export function mergeRows(
  { rows }: RowState, listed: readonly Request[], latest: (id: string) => Request | undefined,
): RowState {
  const last = rows.at(-1)?.request;
  if (!last) return resetRows(listed);
  const now = new Map(listed.map((request) => [request.id, request]));
  const updated = rows.map((row) => updateRow(row, now.get(row.request.id), latest(row.request.id)));
  const rowIds = new Set(rows.map((row) => row.request.id));
  const added = listed.filter((request) => !rowIds.has(request.id));
  const older = added.filter((request) => isBefore(last, request));
  return { rows: [...updated, ...older.map(toRow)], newRequests: added.filter((request) => isBefore(request, last)) };
}

/** Remove the rows that no longer belong to the list, and the one that was just decided. */
export function dropFinished({ rows, newRequests }: RowState, decided: string): RowState {
  return { rows: rows.filter((row) => !row.isOutdated && row.request.id !== decided), newRequests };
}

/** Return the request to open next: the next pending one that waits for this person, else the previous one. */
export function nextPending(rows: readonly InboxRow[], id: string, isWaiting: (request: Request) => boolean = () => true): Request | undefined {
  const at = rows.findIndex((row) => row.request.id === id);
  const open = (row: InboxRow) => !row.isOutdated && row.request.id !== id && row.request.status === "pending" && isWaiting(row.request);
  return (rows.slice(at + 1).find(open) ?? rows.slice(0, Math.max(at, 0)).findLast(open))?.request;
}
