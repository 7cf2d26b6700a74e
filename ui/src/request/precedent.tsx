import { Button } from "antd";
import { Suspense, useState } from "react";
import type { Request } from "../api/types";
import { lazyWithRetry } from "../base/browser";
import { KeyLabel, useKeys } from "../base/keys";
import type { Values } from "../form/values";
import { useRequestStrings } from "../strings/detail";
import { declaredCard, valueAt } from "./card";
import { usePrecedent, useChanges, isUndecided } from "./last-call";

const PrecedentFigures = lazyWithRetry(() => import("./precedent-figures"));

const tableKey = "t";

interface PrecedentProps {
  request: Request;
  edited: Values | undefined;
  /** True if this request handles the keys. */
  isActive: boolean;
}

/**
 * How calls like this one were decided, and where this one lies among them.
 *
 * Each line has its height before the figures arrive, so that nothing moves.
 */
export function Precedent({ request, edited, isActive }: PrecedentProps) {
  const strings = useRequestStrings();
  const { precedent } = strings;
  const { error } = usePrecedent(request);
  const { found: data, changes } = useChanges(request, edited);
  const [isTable, setTable] = useState(false);
  const hasTable = data !== undefined && (data.amounts.length > 0 || changes.length > 0);
  useKeys(strings.keysOfRequest, hasTable && isActive ? [{ key: tableKey, label: precedent.table, run: () => setTable(!isTable), once: true }] : []);
  if (!request.action) return null;
  if (request.first_of_kind) return <p className="precedent quiet" data-testid="precedent">{precedent.first}</p>;
  // The line of the last call says so.
  if (data && isUndecided(data)) return null;
  const args = edited ?? request.action.args;
  const card = declaredCard(request);
  const path = card?.arguments?.amount;
  const amount = path === undefined ? undefined : valueAt(args, path);
  const figures = data && <PrecedentFigures found={data} amount={typeof amount === "number" ? amount : null} unit={card?.unit} changes={changes} isTable={isTable} />;
  return (
    <section className="precedent" data-testid="precedent" aria-label={precedent.title} aria-busy={!data && !error}>
      <div className="precedent-head">
        <p className="precedent-counts" data-testid="precedent-counts">{data ? precedent.counts(data.counts, data.is_partial) : error ? precedent.failed : ""}</p>
        {hasTable && (
          <Button type="text" size="small" onClick={() => setTable(!isTable)} aria-pressed={isTable} data-testid="precedent-table">
            <KeyLabel label={precedent.table} keyName={tableKey} />
          </Button>
        )}
      </div>
      {(path !== undefined || isTable) && <div className={isTable ? undefined : "precedent-plot"}><Suspense>{figures}</Suspense></div>}
    </section>
  );
}
