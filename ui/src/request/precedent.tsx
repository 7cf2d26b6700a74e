import { Button } from "antd";
import { Suspense, useState } from "react";
import { usePrecedent } from "../api/precedent";
import type { Precedent as Found } from "../api/schema";
import type { Json, Request } from "../api/types";
import { isEqual } from "../api/json";
import type { Values } from "../form/values";
import { useRequestStrings } from "../strings/detail";
import { KeyLabel } from "../base/key-label";
import { useKeys } from "../base/keys";
import { lazyWithRetry } from "../base/lazy";
import { RelativeTime } from "../widgets/time";
import { MarkedText } from "../widgets/agent-text";
import { visible, visibleJson } from "../base/visible";
import { actorName } from "../widgets/names";
import { declaredCard, valueAt } from "./card";
import { fittingParts } from "./fitting";
import type { Change } from "./precedent-figures";

const PrecedentFigures = lazyWithRetry(() => import("./precedent-figures"));

const tableKey = "t";
const maxLength = 24;
/** How many letters stand before those in which two long values differ. */
const maxEqual = 8;
/** How wide the changes may be beside the sentence about them, in letters. */
const maxWidth = 90;

/** Return the arguments in which two calls differ. */
function changesBetween(before: Values, after: Values): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => !isEqual(before[name], after[name])).map((name) => ({ name, before: before[name], after: after[name] }));
}

function textOf(value: Json | undefined): string {
  if (value === undefined) return "–";
  return typeof value === "object" ? visibleJson(value).replaceAll(/\s+/g, " ") : visible(String(value));
}

/** Return the start of a text, or its part from a place on. */
const brief = (text: string, from = 0) => `${from > 0 ? "…" : ""}${text.slice(from, from + maxLength)}${text.length > from + maxLength ? "…" : ""}`;

function equalLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** Return two values, each cut to the part in which they differ. */
function briefly({ before, after }: Change): { before: string | null; after: string } {
  const [old, now] = [textOf(before), textOf(after)];
  const isLong = before !== undefined && Math.max(old.length, now.length) > maxLength;
  const from = isLong ? Math.max(0, equalLength(old, now) - maxEqual) : 0;
  return { before: before === undefined ? null : brief(old, from), after: brief(now, from) };
}

/** Return the number of letters that a text is as wide as; a Chinese or Japanese one is as wide as two. */
const widthOf = (text: string) => [...text].reduce((width, letter) => width + (letter > "\u2e7f" ? 2 : 1), 0);

/** Return the first changes that fit, at least one, as short texts. */
function fittingChanges(changes: readonly Change[]): { name: string; before: string | null; after: string }[] {
  const texts = changes.map((change) => ({ name: brief(visible(change.name)), ...briefly(change) }));
  const widths = texts.map(({ name, before, after }) => widthOf(`${name}${before ?? ""}${after}`) + 6);
  return texts.slice(0, Math.max(1, fittingParts(widths, maxWidth)));
}

/** Return whether nobody decided a call like this one. */
const isUndecided = ({ last, amounts, counts }: Found) => !last && amounts.length === 0 && Object.values(counts).every((count) => !count);

function useChanges(request: Request, edited: Values | undefined): { found: Found | undefined; changes: Change[] } {
  const { data: found } = usePrecedent(request);
  return { found, changes: found?.last ? changesBetween(found.last.args, edited ?? request.action?.args ?? {}) : [] };
}

/** What differs from the last call of the same kind, in few lines; the table shows all of it. */
export function LastCall({ request, edited }: { request: Request; edited: Values | undefined }) {
  const strings = useRequestStrings();
  const { precedent } = strings;
  const { found, changes } = useChanges(request, edited);
  if (!request.action || request.first_of_kind) return null;
  // The lines have their height before they are known.
  if (!found) return <p className="precedent-last" />;
  const { last } = found;
  if (!last) return <p className="precedent-last" data-testid="precedent-last"><span className="quiet">{isUndecided(found) ? precedent.undecided : precedent.noLast}</span></p>;
  const shown = fittingChanges(changes);
  const by = precedent.by(last.outcome, last.responder && actorName(last.responder, strings));
  return (
    <p className="precedent-last" data-testid="precedent-last">
      <span className="quiet">{changes.length > 0 ? precedent.differs : precedent.same}</span>
      {shown.map(({ name, before, after }, at) => (
        <span key={name}>{at > 0 && " ·"} <code>{name}</code> {before !== null && <><del><MarkedText text={before} /></del> → </>}<ins><MarkedText text={after} /></ins></span>
      ))}
      {shown.length < changes.length && <span className="quiet"> · {precedent.more(changes.length - shown.length)}</span>}
      <span className="quiet"> · {by}, <RelativeTime at={last.at} /></span>
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
