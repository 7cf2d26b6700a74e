import { Button } from "antd";
import { Suspense, useState } from "react";
import { usePrecedent } from "../api/precedent";
import type { Precedent as Found } from "../api/schema";
import type { Json, Request } from "../api/types";
import { isEqual, type Values } from "../form/values";
import { useRequestStrings } from "../strings/use-request-strings";
import { KeyLabel } from "../widgets/key-label";
import { useKeys } from "../widgets/keys";
import { lazyWithRetry } from "../widgets/lazy";
import { RelativeTime } from "../widgets/time";
import { visible, visibleJson } from "../widgets/visible";
import { actorName } from "./assignment";
import { declaredCard, valueAt } from "./card";

const PrecedentFigures = lazyWithRetry(() => import("./precedent-figures"));

const tableKey = "t";
const maxLength = 40;

export interface Change {
  name: string;
  before: Json | undefined;
  after: Json | undefined;
}

/** Return the arguments in which two calls differ. */
function changesBetween(before: Values, after: Values): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => !isEqual(before[name], after[name])).map((name) => ({ name, before: before[name], after: after[name] }));
}

function brief(value: Json | undefined): string {
  const text = value === undefined ? "–" : typeof value === "object" ? visibleJson(value).replaceAll(/\s+/g, " ") : visible(String(value));
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

function useChanges(request: Request, edited: Values | undefined): { found: Found | undefined; changes: Change[] } {
  const { data: found } = usePrecedent(request);
  return { found, changes: found?.last ? changesBetween(found.last.args, edited ?? request.action?.args ?? {}) : [] };
}

/** What differs from the last call of the same kind, in two lines; the table shows all of it. */
export function LastCall({ request, edited }: { request: Request; edited: Values | undefined }) {
  const strings = useRequestStrings();
  const { precedent } = strings;
  const { found, changes } = useChanges(request, edited);
  if (!request.action || request.first_of_kind) return null;
  // The lines have their height before they are known.
  if (!found) return <p className="precedent-last" />;
  const { last } = found;
  if (!last) return <p className="precedent-last" data-testid="precedent-last"><span className="quiet">{precedent.noLast}</span></p>;
  const by = precedent.by(last.outcome, last.responder && actorName(last.responder, strings));
  return (
    <p className="precedent-last" data-testid="precedent-last">
      <span className="quiet">{changes.length > 0 ? precedent.differs(by) : precedent.same(by)} <RelativeTime at={last.at} /></span>
      {changes.map(({ name, before, after }) => (
        <span key={name}> · <code>{visible(name)}</code> {before !== undefined && <><del>{brief(before)}</del> → </>}<ins>{brief(after)}</ins></span>
      ))}
    </p>
  );
}

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
