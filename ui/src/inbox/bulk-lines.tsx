import { Button } from "antd";
import { useState } from "react";
import type { Request } from "../api/types";
import { outcomeOf, titleOf } from "../request/outcome";
import { isShortened, signature } from "../request/signature";
import { useStrings, type Strings } from "../strings";
import { JsonValue, MarkedText } from "../widgets/agent-text";
import { visible } from "../base/visible";
import type { BulkStatus } from "./bulk";
import { equalKey } from "./flood";
import { formatCount, objectOf } from "./stake";

interface BulkLine {
  request: Request;
  bulkStatus: BulkStatus | undefined;
  refusal: string | null;
}

const mostLines = 100;

/** Return what the decision is about, from the server's data. */
function describeAction({ action, context, kind, title }: Request, strings: Strings): string {
  if (action) return signature(action.name, action.args);
  return kind === "finish" ? visible(String(context?.task ?? title)) : strings.kinds[kind];
}

/** The action in one line; arguments that do not fit can be opened below it. */
function ActionSummary({ request }: { request: Request }) {
  const strings = useStrings();
  const object = objectOf(request, strings.language);
  const line = <>{object && <strong><MarkedText text={object} /> </strong>}<code className="bulk-action"><MarkedText text={describeAction(request, strings)} /></code></>;
  if (!request.action || !isShortened(request.action)) return line;
  return <details className="compact bulk-arguments" data-testid="bulk-rest"><summary>{line}</summary><JsonValue value={request.action.args} /></details>;
}

const urgency = ["unknown", "skipped", "refused", "sending", "ready", "decided"];
const stateOf = ({ bulkStatus, refusal }: BulkLine) => bulkStatus?.state ?? (refusal ? "refused" : "ready");

/** Equal requests in one line, with the state that needs attention most. */
function EqualLine({ lines }: { lines: BulkLine[] }) {
  const strings = useStrings();
  const [line] = lines.toSorted((one, other) => urgency.indexOf(stateOf(one)) - urgency.indexOf(stateOf(other)));
  if (!line) return null;
  const { request, bulkStatus, refusal } = line;
  const labels = { sending: strings.bulk.sending, decided: outcomeOf(request, null, strings), skipped: null, unknown: null };
  const state = bulkStatus ? (bulkStatus.why ?? labels[bulkStatus.state]) : refusal;
  const sign = bulkStatus?.state === "decided" ? "✓ " : bulkStatus?.state === "sending" ? "" : "⚠\uFE0E ";
  return (
    <li data-testid="bulk-line" data-id={request.id} data-state={stateOf(line)} data-count={lines.length}>
      <span>{lines.length > 1 && <strong>{strings.bulk.times(formatCount(lines.length, strings.language))} </strong>}{titleOf(request, strings)}</span>
      <ActionSummary request={request} />
      {state && <span className="bulk-state"><span aria-hidden="true">{sign}</span>{state}</span>}
    </li>
  );
}

/** The requests of a bulk decision; what did not succeed comes first. */
export function BulkLines({ lines }: { lines: readonly BulkLine[] }) {
  const { bulk, language } = useStrings();
  const [isWhole, setWhole] = useState(false);
  const rank = (each: BulkLine[]) => Math.min(...each.map((line) => urgency.indexOf(stateOf(line))), urgency.indexOf("sending"));
  const equal = [...Map.groupBy(lines, ({ request }) => equalKey(request) || request.id).values()].sort((one, other) => rank(one) - rank(other));
  const shown = isWhole ? equal : equal.slice(0, mostLines);
  return (
    <>
      <ol className="bulk-lines">{shown.map((each) => <EqualLine key={each[0]?.request.id} lines={each} />)}</ol>
      {shown.length < equal.length && (
        <Button type="link" onClick={() => setWhole(true)} data-testid="bulk-show-all">{bulk.showAllLines(formatCount(equal.length, language))}</Button>
      )}
    </>
  );
}
