import { Alert, Button, Input, Modal, Progress } from "antd";
import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { deliberate } from "../base/deliberate";
import { useMessages } from "../widgets/messages";
import type { BulkDecision } from "./bulk";
import { BulkLines } from "./bulk-lines";
import { BulkSummary } from "./bulk-summary";
import { membersOf } from "./flood";
import { formatCount } from "./stake";
import type { InboxState } from "./use-inbox";

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
