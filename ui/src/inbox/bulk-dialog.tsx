import { useQueryClient } from "@tanstack/react-query";
import { Button, Descriptions, Alert, Input, Modal, Progress } from "antd";
import { useState, useId } from "react";
import type { Request } from "../api/types";
import { deliberate } from "../base/deliberate";
import { visible } from "../base/visible";
import { outcomeOf, titleOf } from "../request/outcome";
import { isShortened, signature } from "../request/signature";
import { useStrings, type Strings } from "../strings";
import { JsonValue } from "../widgets/json-value";
import { MarkedText } from "../widgets/marked-text";
import { useMessages } from "../widgets/messages";
import type { BulkStatus, BulkDecision } from "./bulk";
import { equalKey, membersOf } from "./flood";
import { tiers } from "./inbox-url";
import { formatCount, objectOf, amountText, totalsOf } from "./stake";
import type { InboxState } from "./use-inbox";

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
function BulkLines({ lines }: { lines: readonly BulkLine[] }) {
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

interface BulkSummaryProps {
  /** The requests that are decided. */
  requests: readonly Request[];
  /** The requests of the list that are left out, each with the reason. */
  leftOut: readonly string[];
}

/** Return how often each value occurs. */
function countsOf<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** What a bulk decision covers: sums and extremes of the declared amounts, the stakes, and what it leaves out. */
function BulkSummary({ requests, leftOut }: BulkSummaryProps) {
  const { bulk, language, range, tierNames } = useStrings();
  const number = (count: number) => formatCount(count, language);
  const totals = totalsOf(requests);
  const undeclared = requests.length - totals.reduce((sum, { count }) => sum + count, 0);
  const money = (amount: number, unit: (typeof totals)[number]["unit"]) => amountText(amount, unit, language);
  const byTier = countsOf(requests.map(({ tier }) => tier ?? "low"));
  const rows = [
    ...totals.flatMap(({ unit, sum, least, greatest }, index) => [
      { key: `sum-${index}`, label: bulk.sum, children: money(sum, unit) },
      { key: `extremes-${index}`, label: bulk.extremes, children: range(money(least, unit), money(greatest, unit)) },
    ]),
    ...(totals.length > 0 && undeclared > 0 ? [{ key: "undeclared", label: "", children: bulk.undeclared(number(undeclared)) }] : []),
    { key: "tiers", label: bulk.tiers, children: tiers.flatMap((tier) => (byTier.has(tier) ? [`${tierNames[tier]} ${number(byTier.get(tier) ?? 0)}`] : [])).join(", ") },
    ...(leftOut.length > 0 ? [{
      key: "left-out", label: bulk.leftOut,
      children: <ul className="bulk-left-out">{Array.from(countsOf(leftOut), ([why, count]) => <li key={why}>{bulk.leftOutWhy(number(count), why)}</li>)}</ul>,
    }] : []),
  ];
  return <Descriptions size="small" column={1} items={rows} className="bulk-summary" data-testid="bulk-summary" />;
}

interface BulkDialogProps {
  inbox: InboxState;
  verdict: BulkDecision;
  onClose: () => void;
}

/** Return the requests as they were when the dialog opened, with the current status of each. */
function useBulkLines({ selected, view, refusalOf, bulkStatusOf }: InboxState, verdict: BulkDecision) {
  const [requests] = useState(selected);
  const client = useQueryClient();
  const now = new Map(view.rows.flatMap(membersOf).map((request) => [request.id, request]));
  return requests.map((request) => {
    const latest = now.get(request.id) ?? client.getQueryData<Request>(["request", request.id]) ?? request;
    const status = bulkStatusOf(latest);
    const bulkStatus = latest.status === "pending" || status?.state === "decided" ? status : undefined;
    return { request: latest, asShown: request, bulkStatus, refusal: refusalOf(latest, verdict) };
  });
}

/** Return why requests of the list are not selected, if all others are; as it was when the dialog opened. */
function useLeftOut({ view, selection, refusalOf, list }: InboxState): string[] {
  const [reasons] = useState(() => {
    const refusals = view.rows.filter(({ isOutdated }) => !isOutdated).flatMap(membersOf)
      .flatMap((request) => (selection.ids.has(request.id) ? [] : [refusalOf(request)]));
    const isAllSelected = !list.hasNextPage && refusals.every((refusal) => refusal !== null);
    return isAllSelected ? refusals.filter((refusal) => refusal !== null) : [];
  });
  return reasons;
}

type Step = "asking" | "sending" | "done";

function useBulkDecision({ inbox, verdict, onClose }: BulkDialogProps) {
  const { bulk: bulkStrings, language } = useStrings();
  const message = useMessages();
  const [step, setStep] = useState<Step>("asking");
  const lines = useBulkLines(inbox, verdict);
  const left = lines.filter(({ bulkStatus }) => bulkStatus?.state !== "decided");
  const ready = left.filter(({ refusal, bulkStatus }) => (step === "done" ? bulkStatus?.state === "unknown" : refusal === null));

  const leaveTo = (id: string | undefined) => {
    onClose();
    if (id) inbox.cursor.focus(id);
  };
  const send = async (reason: string) => {
    setStep("sending");
    const done = await inbox.bulk.decide(ready.map(({ asShown }) => asShown), verdict, reason);
    const rest = left.filter(({ request }) => !done.has(request.id));
    inbox.selection.set(rest.map(({ request }) => request.id));
    if (rest.length > 0) return setStep("done");
    void message.success(bulkStrings.done(formatCount(lines.length, language)));
    leaveTo(inbox.cursor.id);
  };
  // Return to the previous row if nothing was sent, else to the first undecided one.
  const close = () => leaveTo(step === "asking" ? inbox.cursor.id : left[0]?.request.id);
  const number = (count: number) => formatCount(count, language);
  const decided = lines.length - left.length;
  return {
    step, lines, send, close, ready: number(ready.length), decided: number(decided), left: number(left.length),
    requests: ready.map(({ request }) => request), share: Math.floor((decided / lines.length) * 100), all: number(lines.length),
  };
}

function Reason({ reason, onReason }: { reason: string; onReason: (reason: string) => void }) {
  const { bulk: bulkStrings } = useStrings();
  const id = useId();
  return (
    <div className="bulk-reason">
      <label htmlFor={id}>{bulkStrings.reason}</label>
      <Input.TextArea
        id={id} autoSize={{ minRows: 2, maxRows: 6 }} value={reason} maxLength={20_000} data-testid="bulk-reason"
        onChange={(event) => onReason(event.target.value)}
      />
    </div>
  );
}

/** The confirmation of a bulk decision, and then its results. */
export default function BulkDialog(props: BulkDialogProps) {
  const { bulk: bulkStrings } = useStrings();
  const [reason, setReason] = useState("");
  const { step, lines, ready, requests, decided, left, share, all, send, close } = useBulkDecision(props);
  const leftOut = useLeftOut(props.inbox);
  const isApproval = props.verdict === "approve";
  const isSending = step === "sending";
  const question = isApproval ? bulkStrings.approveTitle(ready) : bulkStrings.rejectTitle(ready);
  const now = isApproval ? bulkStrings.approveNow(ready) : bulkStrings.rejectNow(ready);
  return (
    <Modal
      open width={640} className="bulk-dialog" onCancel={close} closable={false} mask={{ closable: false }} keyboard={!isSending}
      focusable={{ focusTriggerAfterClose: false }} title={step === "asking" ? question : bulkStrings.done(decided)} data-testid="bulk-dialog"
      footer={[
        <Button key="close" disabled={isSending} onClick={close} data-testid="bulk-close">{step === "done" ? bulkStrings.close : bulkStrings.cancel}</Button>,
        (step !== "done" || ready !== "0") && (
          <Button
            key="send" type="primary" danger={!isApproval} loading={isSending} disabled={ready === "0"} data-testid="bulk-confirm" autoFocus={isApproval}
            // The key may be held down from the bar below the list.
            {...deliberate(() => void send(reason))}
          >
            {step === "done" ? bulkStrings.retryRest : now}
          </Button>
        ),
      ]}
    >
      <div aria-live="polite">
        {step === "done" && <Alert type="warning" showIcon data-testid="bulk-outcome" title={bulkStrings.skipped(left)} />}
      </div>
      {!isApproval && step === "asking" && <Reason reason={reason} onReason={setReason} />}
      {step === "asking" && <BulkSummary requests={requests} leftOut={leftOut} />}
      {step === "asking" && <p className="quiet">{isApproval ? bulkStrings.approveHint : bulkStrings.rejectHint}</p>}
      {isSending && <Progress percent={share} format={() => bulkStrings.progress(decided, all)} aria-label={bulkStrings.sending} data-testid="bulk-progress" />}
      <BulkLines lines={lines} />
    </Modal>
  );
}
