import { actorName } from "../widgets/names";
import { visible } from "../base/visible";
import type { Source } from "./types";
import { labelOf, useAssistantStrings } from "../strings/assistant";

/** The origin of a value: its kind, the person or handler, and the quote. */
export function Provenance({ source }: { source: Source }) {
  const strings = useAssistantStrings();
  const { kind, actor, quote } = source;
  const who = actor && (kind === "handler" || kind === "derived" ? visible(actor) : actorName(actor, strings));
  return (
    <span className="quiet" data-testid="source">
      {labelOf(strings.sources, kind)}{who && ` · ${who}`}{quote && <q className="quote">{visible(quote)}</q>}
    </span>
  );
}
