import { useMemo } from "react";
import type { Filters } from "../api/lists";
import { useRequests, useSent } from "../api/requests";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { explain } from "../widgets/problem";
import { searchOf, useFilters } from "./address";
import { whyNot, type Fate, type Verdict } from "./bulk";
import { useSelection, type Selection } from "./selection";
import { useBulk, type Bulk } from "./use-bulk";
import { useCalm } from "./use-calm";
import { useCursor, type Cursor } from "./use-cursor";
import { useSteady, type Steady } from "./use-steady";

/** The list and all that a person does to it. */
export interface InboxState {
  filters: Filters;
  openId: string | undefined;
  list: ReturnType<typeof useRequests>;
  shown: Steady;
  /** What is shown is still that of the filters before. */
  isLate: boolean;
  cursor: Cursor;
  selection: Selection;
  selected: Request[];
  bulk: Bulk;
  fateOf: (request: Request) => Fate | undefined;
  refusalOf: (request: Request, verdict?: Verdict) => string | null;
  /** What tells whether somebody is at the rows. */
  watch: ReturnType<typeof useCalm>["watch"];
}

function useFates({ fates }: Bulk, openId: string | undefined) {
  const strings = useStrings();
  const sent = useSent();
  return ({ id, version }: Request): Fate | undefined => {
    const one = sent.get(id);
    if (one?.state === "sending") return { state: "sending" };
    // What is open says itself what went wrong, and better.
    if (one && id !== openId) return { state: "unknown", why: explain(one.error, strings) };
    const fate = fates.get(id);
    return fate?.version === undefined || fate.version >= version ? fate : undefined;
  };
}

/** What is selected and can still be decided: what has ended elsewhere is out by itself. */
function useChosen(of: string, listed: readonly Request[] | undefined): Selection {
  const selection = useSelection(of);
  if (!listed || selection.ids.size === 0) return selection;
  const pending = listed.filter(({ id, status }) => status === "pending" && selection.ids.has(id));
  return { ...selection, ids: new Set(pending.map(({ id }) => id)) };
}

export function useInbox(openId: string | undefined): InboxState {
  const strings = useStrings();
  const session = useSession().data;
  const filters = useFilters();
  const list = useRequests(filters);
  const listed = useMemo(() => list.data?.pages.flatMap((page) => page.items), [list.data]);
  const bulk = useBulk();
  const of = searchOf(filters);
  const selection = useChosen(of, listed);
  const { isCalm, watch } = useCalm();
  const shown = useSteady({
    of, listed, asOf: list.data?.pages[0]?.asOf, isCalm: isCalm && openId === undefined && selection.ids.size === 0,
  });
  const { rows } = shown;
  const cursor = useCursor(rows, openId);
  return {
    filters, openId, list, shown, isLate: shown.of !== of, cursor, selection, bulk, watch,
    selected: rows.map((row) => row.request).filter(({ id }) => selection.ids.has(id)),
    fateOf: useFates(bulk, openId),
    refusalOf: (request, verdict = "approve") => whyNot(request, verdict, session, strings),
  };
}
