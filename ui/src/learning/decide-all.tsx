import { useQueries } from "@tanstack/react-query";
import { Alert, Button, Input } from "antd";
import { useId, useState } from "react";
import { requestQuery } from "../api/requests";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { bulkRefusal, type BulkDecision } from "../inbox/bulk";
import { useBulk } from "../inbox/use-bulk";
import { useKeys } from "../widgets/keys";
import { useLearningWords } from "./words";

/** The open proposals that this person may decide. */
function useOpen(ids: string[], verdict: BulkDecision): Request[] {
  const words = useLearningWords();
  const session = useSession().data;
  const found = useQueries({ queries: ids.map(requestQuery), combine: (all) => all.flatMap(({ data }) => (data ? [data] : [])) });
  return found.filter((request) => bulkRefusal(request, verdict, session, words) === null);
}

interface ReasonProps {
  count: number;
  onReject: (reason: string) => void;
  onBack: () => void;
}

function Reason({ count, onReject, onBack }: ReasonProps) {
  const words = useLearningWords();
  const id = useId();
  const [reason, type] = useState("");
  useKeys(words.learnThis, [
    { key: "mod+Enter", label: words.rejectAllNow(count), run: () => onReject(reason), whileTyping: true, once: true },
    { key: "Escape", label: words.back, run: onBack, whileTyping: true },
  ]);
  return (
    <div className="say-words">
      <label htmlFor={id} className="quiet">{words.rejectAllReason}</label>
      <Input.TextArea
        id={id} autoFocus autoSize={{ minRows: 2, maxRows: 6 }} value={reason} maxLength={20_000} onChange={(event) => type(event.target.value)}
        data-testid="reject-all-reason"
      />
      <div className="button-bar">
        <Button danger type="primary" onClick={() => onReject(reason)} data-testid="confirm-reject-all">{words.rejectAllNow(count)}</Button>
        <Button onClick={onBack}>{words.back}</Button>
      </div>
    </div>
  );
}

/** Decide several proposals at once, each as shown. */
export function DecideAll({ ids, onDecided }: { ids: string[]; onDecided: () => void }) {
  const words = useLearningWords();
  const { statuses, decide } = useBulk();
  const [rejecting, setRejecting] = useState(false);
  const [sending, setSending] = useState(false);
  const open = useOpen(ids, "approve");
  const send = async (verdict: BulkDecision, reason: string) => {
    setSending(true);
    await decide(open, verdict, reason);
    setSending(false);
    setRejecting(false);
    onDecided();
  };
  const skipped = [...new Set([...statuses.values()].flatMap(({ state, why }) => (state === "skipped" || state === "unknown" ? [why ?? ""] : [])))];
  return (
    <>
      {open.length > 1 && !rejecting && (
        <div className="button-bar">
          <Button loading={sending} onClick={() => void send("approve", "")} data-testid="approve-all">{words.approveAll(open.length)}</Button>
          <Button danger type="text" disabled={sending} onClick={() => setRejecting(true)} data-testid="reject-all">{words.rejectAll(open.length)}</Button>
        </div>
      )}
      {rejecting && <Reason count={open.length} onReject={(reason) => void send("reject", reason)} onBack={() => setRejecting(false)} />}
      {skipped.length > 0 && <Alert type="warning" showIcon title={words.someSkipped(skipped.join(" · "))} data-testid="some-skipped" />}
    </>
  );
}
