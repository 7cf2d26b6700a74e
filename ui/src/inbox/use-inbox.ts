import type { Filters } from "../api/lists";
import type { useRequests } from "../api/request-list";
import { usePendingAnswers } from "../api/requests";
import { usePerson } from "../api/absences";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { usePreference } from "../base/preference";
import { explain } from "../widgets/problem";
import { searchOf, useFilters } from "./inbox-url";
import { bulkRefusal, type BulkStatus, type BulkDecision } from "./bulk";
import { useSelection, type Selection } from "./selection";
import { useBulk, type BulkDecisions } from "./use-bulk";
import { useListActivity } from "./use-list-activity";
import { useListed } from "./use-listed";
import { useCursor, type Cursor } from "./use-cursor";
import { membersOf } from "./flood";
import { useStableRows, type StableRows } from "./use-stable-rows";

/** The state of the inbox and all actions on it. */
export interface InboxState {
  filters: Filters;
  openId: string | undefined;
  list: ReturnType<typeof useRequests>;
  view: StableRows;
  /** The rows are still those of the previous filters. */
  isStale: boolean;
  cursor: Cursor;
  selection: Selection;
  selected: Request[];
  bulk: BulkDecisions;
  bulkStatusOf: (request: Request) => BulkStatus | undefined;
  refusalOf: (request: Request, verdict?: BulkDecision) => string | null;
  /** Event handlers that detect activity on the list. */
  activityHandlers: ReturnType<typeof useListActivity>["handlers"];
}

function useBulkStatus({ statuses }: BulkDecisions, openId: string | undefined) {
  const strings = useStrings();
  const sent = usePendingAnswers();
  return ({ id, version }: Request): BulkStatus | undefined => {
    const one = sent.get(id);
    if (one?.state === "sending") return { state: "sending" };
    // An open request shows its own errors.
    if (one && id !== openId) return { state: "unknown", why: explain(one.error, strings) };
    const status = statuses.get(id);
    return status?.version === undefined || status.version >= version ? status : undefined;
  };
}

/** Return the selection without requests that ended elsewhere. */
function usePendingSelection(listKey: string, listed: readonly Request[] | undefined): Selection {
  const selection = useSelection(listKey);
  if (!listed || selection.ids.size === 0) return selection;
  const pending = listed.filter(({ id, status }) => status === "pending" && selection.ids.has(id));
  return { ...selection, ids: new Set(pending.map(({ id }) => id)) };
}

export function useInbox(openId: string | undefined): InboxState {
  const strings = useStrings();
  const person = usePerson();
  const filters = useFilters();
  const [bundles] = usePreference("bundles");
  const { list, listed, present } = useListed(filters);
  const bulk = useBulk();
  const listKey = searchOf(filters);
  const selection = usePendingSelection(listKey, listed);
  const { isInactive, handlers: activityHandlers } = useListActivity();
  const view = useStableRows({
    listKey, listed, present, asOf: list.data?.pages[0]?.asOf, isInactive: isInactive && openId === undefined && selection.ids.size === 0,
    isBundled: filters.tab !== "done" && filters.tool === undefined && bundles !== "off",
  });
  const { rows } = view;
  const cursor = useCursor(rows, openId);
  return {
    filters, openId, list, view, isStale: view.listKey !== listKey, cursor, selection, bulk, activityHandlers,
    selected: rows.flatMap(membersOf).filter(({ id }) => selection.ids.has(id)),
    bulkStatusOf: useBulkStatus(bulk, openId),
    refusalOf: (request, verdict = "approve") => bulkRefusal(request, verdict, person, strings),
  };
}
