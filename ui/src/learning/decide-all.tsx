import { useQueries } from "@tanstack/react-query";
import { Alert, Button, Input } from "antd";
import { useId, useState } from "react";
import { requestQuery } from "../api/requests";
import { usePerson } from "../api/absences";
import type { Request } from "../api/types";
import { bulkRefusal, type BulkDecision } from "../inbox/bulk";
import { useBulk } from "../inbox/use-bulk";
import { useKeys } from "../base/keys";
import { useLearningStrings } from "../strings/learning";
import type { Insight } from "./types";

/** Return the open proposals that this person may decide. */
function useDecidableRequests(ids: string[]): Request[] {
  const strings = useLearningStrings();
  const person = usePerson();
  const requests = useQueries({ queries: ids.map(requestQuery), combine: (all) => all.flatMap(({ data }) => (data ? [data] : [])) });
  return requests.filter((request) => [null, strings.bulkRefusals.learning].includes(bulkRefusal(request, "approve", person, strings)));
}

interface RejectReasonProps {
  count: number;
  onReject: (reason: string) => void;
  onBack: () => void;
}

function RejectReason({ count, onReject, onBack }: RejectReasonProps) {
  const strings = useLearningStrings();
  const id = useId();
  const [reason, type] = useState("");
  useKeys(strings.proposalsTitle, [
    { key: "mod+Enter", label: strings.rejectAllNow(count), run: () => onReject(reason), whileTyping: true, once: true },
    { key: "Escape", label: strings.back, run: onBack, whileTyping: true },
  ]);
  return (
    <div className="say-words">
      <label htmlFor={id} className="quiet">{strings.rejectAllReason}</label>
      <Input.TextArea
        id={id} autoFocus autoSize={{ minRows: 2, maxRows: 6 }} value={reason} maxLength={20_000} onChange={(event) => type(event.target.value)}
        data-testid="reject-all-reason"
      />
      <div className="button-bar">
        <Button danger type="primary" onClick={() => onReject(reason)} data-testid="confirm-reject-all">{strings.rejectAllNow(count)}</Button>
        <Button onClick={onBack}>{strings.back}</Button>
      </div>
    </div>
  );
}

interface DecideAllButtonsProps {
  open: Request[];
  covered: Request[];
  /** How many may contradict another one or the playbook. */
  contradictory: number;
  isSending: boolean;
  onApprove: () => void;
  onReject: () => void;
}

/** The buttons for all proposals, and what each of them covers. */
function DecideAllButtons({ open, covered, contradictory, isSending, onApprove, onReject }: DecideAllButtonsProps) {
  const strings = useLearningStrings();
  const id = useId();
  return (
    <div className="decide-all">
      <div className="button-bar">
        <Button loading={isSending} disabled={covered.length === 0} onClick={onApprove} aria-describedby={id} data-testid="approve-all">{strings.approveAll}</Button>
        <Button danger type="text" disabled={isSending} onClick={onReject} data-testid="reject-all">{strings.rejectAll(open.length)}</Button>
      </div>
      <p id={id} className="quiet" data-testid="approve-all-covers">{strings.approveAllCovers(covered.length, open.length - covered.length - contradictory, contradictory)}</p>
    </div>
  );
}

const contradicts = ({ contradicts: others, contradictsPlaybook }: Insight) => others.length > 0 || contradictsPlaybook;

interface DecideAllProps {
  insights: Insight[];
  onDecided: () => void;
}

/** Decide several proposals at once, each with the content on screen. Approval leaves out what needs a decision of its own. */
export function DecideAll({ insights, onDecided }: DecideAllProps) {
  const strings = useLearningStrings();
  const { statuses, decide } = useBulk();
  const [rejecting, setRejecting] = useState(false);
  const [sending, setSending] = useState(false);
  const idsOf = (some: Insight[]) => some.flatMap(({ request }) => (request ? [request.id] : []));
  const contradictory = idsOf(insights.filter(contradicts));
  const opinions = idsOf(insights.filter(({ isOwnOpinion }) => isOwnOpinion));
  const open = useDecidableRequests(idsOf(insights));
  const covered = open.filter(({ id }) => !contradictory.includes(id) && !opinions.includes(id));
  const send = async (verdict: BulkDecision, reason: string) => {
    setSending(true);
    await decide(verdict === "approve" ? covered : open, verdict, reason);
    setSending(false);
    setRejecting(false);
    onDecided();
  };
  const skipped = [...new Set([...statuses.values()].flatMap(({ state, why }) => (state === "skipped" || state === "unknown" ? [why ?? ""] : [])))];
  return (
    <>
      {open.length > 1 && !rejecting && (
        <DecideAllButtons open={open} covered={covered} contradictory={open.filter(({ id }) => contradictory.includes(id)).length} isSending={sending} onApprove={() => void send("approve", "")} onReject={() => setRejecting(true)} />
      )}
      {rejecting && <RejectReason count={open.length} onReject={(reason) => void send("reject", reason)} onBack={() => setRejecting(false)} />}
      {skipped.length > 0 && <Alert type="warning" showIcon title={strings.notAllDecided(skipped.join(" · "))} data-testid="some-skipped" />}
    </>
  );
}
