import { Alert, App, Button, Input, Modal } from "antd";
import { useId, useState } from "react";
import type { Request } from "../api/types";
import { outcomeOf } from "../request/outcome";
import { signature } from "../request/signature";
import { useStrings, type Strings } from "../strings";
import { visible } from "../widgets/visible";
import type { Fate, Verdict } from "./bulk";
import type { InboxState } from "./use-inbox";

/** What is asked for consent to, as the server has it. */
function whatHappens({ action, context, kind, title }: Request, strings: Strings): string {
  if (action) return signature(action.name, action.args);
  return kind === "finish" ? visible(String(context?.task ?? title)) : strings.kinds[kind];
}

interface LineProps {
  request: Request;
  fate: Fate | undefined;
  refusal: string | null;
}

function Line({ request, fate, refusal }: LineProps) {
  const strings = useStrings();
  const said = { sending: strings.bulk.sending, decided: outcomeOf(request, null, strings), skipped: null, unknown: null };
  const state = fate ? (fate.why ?? said[fate.state]) : refusal;
  const sign = fate?.state === "decided" ? "✓ " : fate?.state === "sending" ? "" : "⚠\uFE0E ";
  return (
    <li data-testid="bulk-line" data-id={request.id} data-state={fate?.state ?? (refusal ? "refused" : "ready")}>
      <span className="bulk-title">{visible(request.title)}</span>
      <code className="bulk-what">{whatHappens(request, strings)}</code>
      {state && <span className="bulk-state"><span aria-hidden="true">{sign}</span>{state}</span>}
    </li>
  );
}

interface BulkDialogProps {
  inbox: InboxState;
  verdict: Verdict;
  onClose: () => void;
}

/** What was on screen when the question was put, and what is known of each now. */
function useAsked({ selected, shown, refusalOf, fateOf }: InboxState, verdict: Verdict) {
  const [asked] = useState(selected);
  const now = new Map(shown.rows.map(({ request }) => [request.id, request]));
  return asked.map((request) => {
    const latest = now.get(request.id) ?? request;
    const known = fateOf(latest);
    const fate = latest.status === "pending" || known?.state === "decided" ? known : undefined;
    return { request, latest, fate, refusal: refusalOf(latest, verdict) };
  });
}

/** The last look before many are decided at once, and then what became of each. */
export default function BulkDialog({ inbox, verdict, onClose }: BulkDialogProps) {
  const strings = useStrings();
  const { message } = App.useApp();
  const words = strings.bulk;
  const field = useId();
  const [reason, setReason] = useState("");
  const [step, setStep] = useState<"asking" | "sending" | "done">("asking");
  const lines = useAsked(inbox, verdict);
  const ready = lines.filter(({ refusal, fate }) => refusal === null && fate?.state !== "decided").map(({ request }) => request);
  const count = String(ready.length);
  const decided = lines.filter(({ fate }) => fate?.state === "decided").length;
  const isApproval = verdict === "approve";

  const send = async () => {
    setStep("sending");
    const done = await inbox.bulk.decide(ready, verdict, reason);
    inbox.selection.set(lines.map(({ request }) => request.id).filter((id) => !done.has(id)));
    if (done.size < lines.length) return setStep("done");
    void message.success(words.done(String(done.size)));
    onClose();
    if (inbox.cursor.id) inbox.cursor.focus(inbox.cursor.id);
  };
  const sendButton = (
    <Button
      key="send" type="primary" danger={!isApproval} loading={step === "sending"} disabled={ready.length === 0} data-testid="bulk-confirm"
      onClick={() => void send()}
    >
      {step === "done" ? words.again : isApproval ? words.approveNow(count) : words.rejectNow(count)}
    </Button>
  );
  return (
    <Modal
      open width={640} onCancel={onClose} closable={step !== "sending"} mask={{ closable: false }} keyboard={step !== "sending"}
      title={isApproval ? words.approveTitle(count) : words.rejectTitle(count)} data-testid="bulk-dialog"
      footer={[
        <Button key="close" disabled={step === "sending"} onClick={onClose} data-testid="bulk-close">
          {step === "done" ? words.close : words.cancel}
        </Button>,
        (step !== "done" || ready.length > 0) && sendButton,
      ]}
    >
      <div aria-live="polite">
        {step === "done" && (
          <Alert
            type="warning" showIcon data-testid="bulk-outcome" title={words.done(String(decided))}
            description={words.skipped(String(lines.length - decided))}
          />
        )}
      </div>
      {!isApproval && step === "asking" && (
        <>
          <label htmlFor={field}>{words.reason}</label>
          <Input.TextArea
            id={field} autoSize={{ minRows: 2, maxRows: 6 }} value={reason} maxLength={20_000} data-testid="bulk-reason"
            onChange={(event) => setReason(event.target.value)}
          />
        </>
      )}
      {step === "asking" && <p className="quiet">{isApproval ? words.approveHint : words.rejectHint}</p>}
      <ol className="bulk-lines">
        {lines.map((line) => <Line key={line.request.id} request={line.latest} fate={line.fate} refusal={line.refusal} />)}
      </ol>
    </Modal>
  );
}
