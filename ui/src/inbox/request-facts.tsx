import { Tag } from "antd";
import type { Request } from "../api/types";
import { deadlineOf } from "../api/urgency";
import { decisionLabel, outcomeOf } from "../request/outcome";
import { declaredCard } from "../request/card";
import { signature } from "../request/signature";
import type { OwnPart } from "../request/voting";
import { useStrings, type Strings } from "../strings";
import { Countdown, useNow } from "../widgets/time";
import { MarkedText } from "../widgets/agent-text";
import { visible } from "../base/visible";
import type { BulkStatus } from "./bulk";
import type { InboxRow } from "./flood";
import { amountText, askerOf, formatCount, objectOf, totalsOf } from "./stake";

const lateFraction = 0.2;

/** The nearer of due time and expiry, while the request is open. */
export function Deadline({ request }: { request: Request }) {
  const now = useNow();
  const { created_at: createdAt, expires_at: expires, due_at: due } = request;
  const at = deadlineOf(request);
  if (!Number.isFinite(at) || request.status !== "pending") return null;
  const isLate = at - now < (at - Date.parse(createdAt)) * lateFraction;
  const isExpiry = Boolean(expires && Date.parse(expires) === at);
  const until = (isExpiry ? expires : due) ?? "";
  return <span className={isLate ? "inbox-deadline-late" : undefined}><Countdown kind={isExpiry ? "expires" : "due"} until={until} /></span>;
}

interface FactsProps extends Pick<InboxRow, "request" | "isOutdated" | "others" | "bundle"> {
  bulkStatus: BulkStatus | undefined;
  /** What this person has done on a pending request. */
  ownPart: OwnPart;
}

function pendingText(request: Request, ownPart: OwnPart, strings: Strings): string | null {
  const { held } = request;
  if (held) return `${decisionLabel(request, held.decision, strings)} (${visible(held.responder)}): ${strings.heldVote}`;
  return ownPart === "voted" ? strings.ownVote : null;
}

/** Return the row's status as text: sending, outcome or refusal; null while it is pending. */
function statusText({ request, isOutdated, bulkStatus, ownPart }: FactsProps, strings: Strings): string | null {
  if (bulkStatus?.state === "sending") return strings.bulk.sending;
  return outcomeOf(request, null, strings) ?? bulkStatus?.why ?? (isOutdated ? strings.notInList : pendingText(request, ownPart, strings));
}

function State(props: FactsProps) {
  const { request, bulkStatus } = props;
  const text = statusText(props, useStrings());
  if (!text) return null;
  const sign = { approve: "✓", edit: "✓", respond: "✓", reject: "✕" }[request.response?.decision ?? "approve"];
  return (
    <span className={bulkStatus?.why && request.status === "pending" ? "inbox-state inbox-refusal" : "inbox-state"} title={text} data-testid="row-state">
      {request.response && <span aria-hidden="true">{sign} </span>}
      {text}
    </span>
  );
}

/** What is at stake, in words: the tier, the priority, and whether nobody was asked about this tool of late. */
function Stakes({ request }: { request: Request }) {
  const strings = useStrings();
  const { tier, priority, first_of_kind: isFirst } = request;
  return (
    <>
      {tier === "irreversible" && <Tag color="error" data-testid="row-tier"><span aria-hidden="true">■ </span>{strings.tierNames.irreversible}</Tag>}
      {tier === "high" && <Tag color="warning" data-testid="row-tier"><span aria-hidden="true">▲ </span>{strings.tierNames.high}</Tag>}
      {declaredCard(request)?.above_limit === true && <Tag color="warning">{strings.aboveLimit}</Tag>}
      {(priority === "high" || priority === "urgent") && <Tag color="error">{strings.priorities[priority]}</Tag>}
      {request.unanswerable && <Tag color="error" data-testid="row-unanswerable">{strings.unanswerable}</Tag>}
      {isFirst && <Tag color="blue" className="inbox-first" title={strings.firstOfKindHint} data-testid="row-first">{strings.firstOfKind}</Tag>}
    </>
  );
}

function Call({ request }: { request: Request }) {
  const strings = useStrings();
  const { action, kind } = request;
  if (!action) return <span className="inbox-kind" title={strings.kinds[kind]}>{strings.kinds[kind]}</span>;
  const object = objectOf(request, strings.language);
  const call = object === null ? signature(action.name, action.args) : visible(action.name);
  return (
    <>
      {object !== null && <strong className="inbox-object" title={object} data-testid="row-object"><MarkedText text={object} /></strong>}
      <code className="inbox-kind" title={call} data-testid="row-call"><MarkedText text={call} /></code>
    </>
  );
}

/** The amounts of a flood's requests from the least to the greatest, with the name of their tool. */
function BundleCall({ request, others }: Pick<InboxRow, "request" | "others">) {
  const strings = useStrings();
  const ranges = totalsOf([request, ...others]).map(({ least, greatest, unit }) =>
    strings.range(...[least, greatest].map((amount) => amountText(amount, unit, strings.language)) as [string, string]));
  return (
    <>
      {ranges.length > 0 && <strong className="inbox-object">{ranges.join(", ")}</strong>}
      <span className="inbox-kind" title={strings.bundleHint}>{strings.bundleHint}</span>
    </>
  );
}

/** The second line of a row: the stakes, the call, who asks, and the deadline or the outcome. */
export function Facts(props: FactsProps) {
  const strings = useStrings();
  const { request, others, bundle } = props;
  const asker = askerOf(request, strings);
  const claimed = request.claimed_by && strings.claimedBy(visible(request.claimed_by));
  return (
    <span className="inbox-facts">
      <span className="inbox-what">
        {bundle === "equal" && others.length > 0 && <Tag data-testid="row-count">{strings.equalCount(formatCount(others.length + 1, strings.language))}</Tag>}
        {request.status === "pending" && <Stakes request={request} />}
        {bundle === "tool" ? <BundleCall {...props} /> : <Call request={request} />}
      </span>
      <span className="inbox-who">
        {asker && <span className="inbox-asker" title={asker} data-testid="row-asker">{asker}</span>}
        {claimed && <span className="inbox-holder" title={claimed}>{claimed}</span>}
        <State {...props} />
      </span>
    </span>
  );
}
