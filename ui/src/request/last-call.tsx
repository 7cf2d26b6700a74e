import { useQuery } from "@tanstack/react-query";
import { call } from "../api/call";
import { isEqual, type Request, type Json } from "../api/types";
import type { Precedent as Found } from "../api/schema";
import { visible, visibleJson } from "../base/visible";
import type { Values } from "../form/values";
import { useRequestStrings } from "../strings/detail";
import { MarkedText } from "../widgets/marked-text";
import { actorName } from "../widgets/names";
import { RelativeTime } from "../widgets/relative-time";
import type { Change } from "./precedent-figures";

/** How people decided the calls of the same tool; it is read once for each request that is opened. */
export function usePrecedent({ id, action, first_of_kind: isFirst }: Request) {
  return useQuery({
    queryKey: ["precedent", id],
    queryFn: () => call<Found>("GET", `/v1/requests/${encodeURIComponent(id)}/precedent`),
    enabled: action !== null && !isFirst,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
}

/** Return how many of the first parts fit into a line, from the width of each. */
function fittingParts(widths: readonly number[], lineWidth: number): number {
  let width = 0;
  const end = widths.findIndex((part) => (width += part) > lineWidth);
  return end < 0 ? widths.length : end;
}

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

export function textOf(value: Json | undefined): string {
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

export function useChanges(request: Request, edited: Values | undefined): { found: Found | undefined; changes: Change[] } {
  const { data: found } = usePrecedent(request);
  return { found, changes: found?.last ? changesBetween(found.last.args, edited ?? request.action?.args ?? {}) : [] };
}

/** Return whether nobody decided a call like this one. */
export const isUndecided = ({ last, amounts, counts }: Found) => !last && amounts.length === 0 && Object.values(counts).every((count) => !count);

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
