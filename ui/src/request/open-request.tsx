import { Alert } from "antd";
import { useEffect, useRef } from "react";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { AgentWords } from "./agent-words";
import { AnswerArea } from "./answer-area";
import { ConfirmEdit, ConfirmReject } from "./confirm";
import { DecideBar } from "./decide-bar";
import { isChanged, keysOf, messageAt, useDraft, type Draft } from "./draft";
import { Facts } from "./facts";
import { outcomeOf } from "./outcome";
import { useDecision, type DecisionState } from "./use-decision";
import { editableOf } from "./values";

interface PartProps {
  request: Request;
  draft: Draft;
  change: (change: Partial<Draft>) => void;
  decision: DecisionState;
  dead: boolean;
}

function Bar({ request, draft, change, decision, dead }: PartProps) {
  const { decide, sending, problems } = decision;
  const back = () => change({ mode: "deciding" });
  const changed = isChanged(request, draft);
  const common = { request, dead, sending, onBack: back };
  if (draft.mode === "editing") return <ConfirmEdit {...common} changed={changed} onConfirm={() => decide("edit")} />;
  if (draft.mode === "rejecting") {
    return (
      <ConfirmReject
        {...common} reason={draft.reason} onReason={(reason) => change({ reason })}
        error={messageAt(problems, "message")} onConfirm={() => decide("reject")}
      />
    );
  }
  return (
    <DecideBar
      {...common} changed={changed} opensEditor={editableOf(request) !== null} onDecide={decide}
      onEdit={() => change({ mode: "editing" })} onReject={() => change({ mode: "rejecting" })}
    />
  );
}

/** What the server said that belongs to no single field. */
function Said({ request, draft, decision }: PartProps) {
  const strings = useStrings();
  const { error, winner, problems } = decision;
  const keys = keysOf(request, draft);
  const loose = problems.filter((problem) => !keys.some((key) => messageAt([problem], key)));
  const outcome = decision.sending ? null : outcomeOf(request, winner, strings);
  if (outcome) return <Alert type="warning" showIcon title={outcome} description={strings.endedElsewhere} data-testid="ended" />;
  if (error && "code" in error && error.code === "digest_mismatch") return <Problem error={error} title={strings.digestMismatch} />;
  if (error) return <Problem error={error} />;
  if (problems.length === 0) return null;
  return (
    <Alert
      type="error" showIcon data-testid="problems" title={strings.fixFields}
      description={loose.map(({ field, message }) => <div key={field + message}>{visible(field ? `${field}: ${message}` : message)}</div>)}
    />
  );
}

interface OpenRequestProps {
  request: Request;
  onDecided: (completed: Request) => void;
}

/** After a refusal the first field that is wrong gets the focus. */
function useFocusOnRefusal(refusals: number) {
  const area = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (refusals === 0) return;
    area.current?.querySelector<HTMLElement>('[data-invalid="true"] :is(input, textarea, button)')?.focus();
  }, [refusals]);
  return area;
}

/** A request that can be decided here, or could be until it ended elsewhere: then it stays, with what was typed. */
export function OpenRequest({ request, onDecided }: OpenRequestProps) {
  const [draft, change] = useDraft(request);
  const decision = useDecision(request, draft, onDecided);
  const dead = decision.sending === null && (request.status !== "pending" || decision.winner !== null);
  const area = useFocusOnRefusal(decision.refusals);
  const busy = dead || decision.sending !== null;
  const part = { request, draft, change, decision, dead };
  const edit = (edited: Draft["edited"], changed: string) => {
    change({ edited });
    decision.mended(changed);
  };
  const { edited, mode } = draft;
  const editing = mode === "editing" ? { edited, onChange: edit, problems: decision.problems, disabled: busy } : undefined;
  return (
    <div ref={area} className="open">
      <Facts request={request} editing={editing} />
      <AgentWords request={request} />
      <AnswerArea {...part} disabled={busy} />
      <div aria-live="polite"><Said {...part} /></div>
      <Bar {...part} />
    </div>
  );
}
