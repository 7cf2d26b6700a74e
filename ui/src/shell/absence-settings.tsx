import { Button, Input } from "antd";
import { useId, useState } from "react";
import { useAway, useLeave } from "../api/absences";
import { useStrings } from "../strings";
import { MomentInput } from "../widgets/moment-input";
import { Problem } from "../widgets/problem";
import { clock } from "../widgets/time";
import { visible } from "../widgets/visible";
import { BackButton } from "./absence-banner";

function AbsenceForm({ onBack }: { onBack: () => void }) {
  const { away, back } = useStrings();
  const id = useId();
  const leave = useLeave();
  const [deputy, setDeputy] = useState("");
  const [until, setUntil] = useState<string>();
  const isReady = deputy.trim() !== "" && until !== undefined;
  return (
    <form
      className="menu-ask" aria-label={away.title} noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && !leave.isPending) leave.mutate({ deputy: deputy.trim(), until }, { onSuccess: onBack });
      }}
    >
      <p className="quiet">{away.hint}</p>
      <label htmlFor={`${id}-deputy`}>{away.deputyName}</label>
      <Input id={`${id}-deputy`} value={deputy} autoFocus autoComplete="off" data-testid="away-deputy" onChange={(event) => setDeputy(event.target.value)} />
      <label htmlFor={`${id}-until`}>{away.untilLabel}</label>
      <MomentInput id={`${id}-until`} onChange={setUntil} testId="away-until" />
      <Problem error={leave.error} />
      <Button block type="primary" htmlType="submit" disabled={!isReady} loading={leave.isPending} data-testid="leave">{away.save}</Button>
      <Button block onClick={onBack}>{back}</Button>
    </form>
  );
}

/** The person's own absence in their menu, and the people for whom they stand. */
export function AbsenceSettings() {
  const strings = useStrings();
  const { away, language } = strings;
  const { data } = useAway();
  const [isOpen, setOpen] = useState(false);
  if (!data) return null;
  return (
    <>
      {data.deputy_for.map(({ person, until }) => <p key={person} className="quiet">{away.standsIn(visible(person), clock(until, language))}</p>)}
      {data.absence && <p>{away.until(clock(data.absence.until, language), visible(data.absence.deputy))}</p>}
      {data.absence && <BackButton />}
      {isOpen ? <AbsenceForm onBack={() => setOpen(false)} />
        : !data.absence && <Button block onClick={() => setOpen(true)} data-testid="open-away">{away.open}</Button>}
    </>
  );
}
