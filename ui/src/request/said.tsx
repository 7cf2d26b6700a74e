import { Alert } from "antd";
import { visible } from "../widgets/visible";
import { isEdited, keysOf, messageAt, wordsOf } from "./draft";
import { EndingLines, useEnding } from "./ending";
import type { Holding } from "./holding";
import { Refused } from "./refused";
import type { Desk } from "./use-desk";
import { editableOf } from "./values";
import { useWords } from "./words";

/** It ended while it was open here: the buttons died in place, and this says who did it and what came of it. */
function Ended({ desk }: { desk: Desk }) {
  const strings = useWords();
  const ending = useEnding(desk.request, desk.decision.winner);
  if (!ending) return null;
  const typed = wordsOf(desk.request, desk.draft) !== "";
  const lines = typed ? [...ending.lines, strings.endedElsewhere] : ending.lines;
  const title = <div className="lines"><strong>{ending.title}</strong><EndingLines lines={lines} /></div>;
  return <Alert type="warning" showIcon title={title} data-testid="ended" />;
}

function Problems({ desk }: { desk: Desk }) {
  const strings = useWords();
  const keys = keysOf(desk.request, desk.draft);
  const loose = desk.decision.problems.filter((problem) => !keys.some((key) => messageAt([problem], key)));
  return (
    <Alert
      type="error" showIcon data-testid="problems" title={strings.fixFields}
      description={loose.length > 0 && loose.map(({ field, message }) => (
        <div key={field + message}>{visible(field ? `${field}: ${message}` : message)}</div>
      ))}
    />
  );
}

function Words({ desk, holding }: { desk: Desk; holding: Holding }) {
  const strings = useWords();
  const { request, draft, decision, dead, hindrance } = desk;
  if (decision.sending !== null) return <span className="for-readers">{strings.sending}</span>;
  if (dead) return <Ended desk={desk} />;
  const holder = holding.holder?.name ?? null;
  if (decision.error) return <Refused error={decision.error} retry={decision.retry} holder={holder} />;
  if (holding.error) return <Refused error={holding.error} retry={null} holder={holder} />;
  if (decision.problems.length > 0) return <Problems desk={desk} />;
  if (hindrance) return <p className="quiet" data-testid="blocked">{hindrance}</p>;
  const approves = draft.mode === "deciding" || draft.mode === "naming";
  const unsent = approves && editableOf(request) !== null && isEdited(request, draft);
  return unsent ? <p className="quiet" data-testid="unsent-edits">{strings.unsentEdits}</p> : null;
}

/** What has to be said about the decision, where the buttons are; it never pushes them away. */
export function Said(props: { desk: Desk; holding: Holding }) {
  return <div className="said" aria-live="polite"><Words {...props} /></div>;
}
