import { Alert, Button, Input, Modal } from "antd";
import { useId, useState } from "react";
import type { Request } from "../api/types";
import { outcomeOf, titleOf } from "../request/outcome";
import { isShortened, signature } from "../request/signature";
import { useStrings, type Strings } from "../strings";
import { JsonValue } from "../widgets/agent-text";
import { useMessages } from "../widgets/messages";
import { visible } from "../widgets/visible";
import type { BulkDecision, BulkStatus } from "./bulk";
import type { InboxState } from "./use-inbox";

/** Return what the decision is about, from the server's data. */
function describeAction({ action, context, kind, title }: Request, strings: Strings): string {
  if (action) return signature(action.name, action.args);
  return kind === "finish" ? visible(String(context?.task ?? title)) : strings.kinds[kind];
}

/** The action in one line; arguments that do not fit can be opened below it. */
function ActionSummary({ request }: { request: Request }) {
  const strings = useStrings();
  const line = <code className="bulk-action">{describeAction(request, strings)}</code>;
  if (!request.action || !isShortened(request.action)) return line;
  return <details className="compact bulk-arguments" data-testid="bulk-rest"><summary>{line}</summary><JsonValue value={request.action.args} /></details>;
}

interface BulkLineProps {
  request: Request;
  bulkStatus: BulkStatus | undefined;
  refusal: string | null;
}

function BulkLine({ request, bulkStatus, refusal }: BulkLineProps) {
  const strings = useStrings();
  const labels = { sending: strings.bulk.sending, decided: outcomeOf(request, null, strings), skipped: null, unknown: null };
  const state = bulkStatus ? (bulkStatus.why ?? labels[bulkStatus.state]) : refusal;
  const sign = bulkStatus?.state === "decided" ? "✓ " : bulkStatus?.state === "sending" ? "" : "⚠\uFE0E ";
  return (
    <li data-testid="bulk-line" data-id={request.id} data-state={bulkStatus?.state ?? (refusal ? "refused" : "ready")}>
      <span>{titleOf(request, strings)}</span>
      <ActionSummary request={request} />
      {state && <span className="bulk-state"><span aria-hidden="true">{sign}</span>{state}</span>}
    </li>
  );
}

interface BulkDialogProps {
  inbox: InboxState;
  verdict: BulkDecision;
  onClose: () => void;
}

/** Return the requests as they were when the dialog opened, with the current status of each. */
function useBulkLines({ selected, view, refusalOf, bulkStatusOf }: InboxState, verdict: BulkDecision) {
  const [requests] = useState(selected);
  const now = new Map(view.rows.map(({ request }) => [request.id, request]));
  return requests.map((request) => {
    const latest = now.get(request.id) ?? request;
    const status = bulkStatusOf(latest);
    const bulkStatus = latest.status === "pending" || status?.state === "decided" ? status : undefined;
    return { request, latest, bulkStatus, refusal: refusalOf(latest, verdict) };
  });
}

type Step = "asking" | "sending" | "done";

function useBulkDecision({ inbox, verdict, onClose }: BulkDialogProps) {
  const { bulk: bulkStrings } = useStrings();
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
    const done = await inbox.bulk.decide(ready.map(({ request }) => request), verdict, reason);
    const rest = left.filter(({ request }) => !done.has(request.id));
    inbox.selection.set(rest.map(({ request }) => request.id));
    if (rest.length > 0) return setStep("done");
    void message.success(bulkStrings.done(String(lines.length)));
    leaveTo(inbox.cursor.id);
  };
  // Return to the previous row if nothing was sent, else to the first undecided one.
  const close = () => leaveTo(step === "asking" ? inbox.cursor.id : left[0]?.request.id);
  return { step, lines, ready: String(ready.length), decided: String(lines.length - left.length), left: String(left.length), send, close };
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
  const { step, lines, ready, decided, left, send, close } = useBulkDecision(props);
  const isApproval = props.verdict === "approve";
  const isSending = step === "sending";
  const question = isApproval ? bulkStrings.approveTitle(ready) : bulkStrings.rejectTitle(ready);
  const now = isApproval ? bulkStrings.approveNow(ready) : bulkStrings.rejectNow(ready);
  return (
    <Modal
      open width={640} onCancel={close} closable={!isSending} mask={{ closable: false }} keyboard={!isSending}
      focusable={{ focusTriggerAfterClose: false }} title={step === "asking" ? question : bulkStrings.done(decided)} data-testid="bulk-dialog"
      footer={[
        <Button key="close" disabled={isSending} onClick={close} data-testid="bulk-close">{step === "done" ? bulkStrings.close : bulkStrings.cancel}</Button>,
        (step !== "done" || ready !== "0") && (
          <Button
            key="send" type="primary" danger={!isApproval} loading={isSending} disabled={ready === "0"} data-testid="bulk-confirm"
            onClick={() => void send(reason)}
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
      {step === "asking" && <p className="quiet">{isApproval ? bulkStrings.approveHint : bulkStrings.rejectHint}</p>}
      <ol className="bulk-lines">
        {lines.map((line) => <BulkLine key={line.request.id} request={line.latest} bulkStatus={line.bulkStatus} refusal={line.refusal} />)}
      </ol>
    </Modal>
  );
}
