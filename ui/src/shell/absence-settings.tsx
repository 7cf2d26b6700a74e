import { Button, Input } from "antd";
import { useId, useState } from "react";
import { useAway, useLeave } from "../api/absences";
import { useStrings } from "../strings";
import { MomentInput } from "../widgets/moment-input";
import { Problem } from "../widgets/problem";
import { clock } from "../widgets/time";
import { isAboutUnknownNames, UnknownNames } from "../widgets/unknown-names";
import { visible } from "../base/visible";
import { BackButton } from "./absence-banner";

function AbsenceForm({ onBack }: { onBack: () => void }) {
  const { away, back } = useStrings();
  const id = useId();
  const leave = useLeave();
  const [deputy, setDeputy] = useState("");
  const [until, setUntil] = useState<string>();
  const name = deputy.trim();
  const save = (more: { unknown?: true } = {}) => {
    if (name && until !== undefined && !leave.isPending) leave.mutate({ deputy: name, until, ...more }, { onSuccess: onBack });
  };
  const change = (typed: string) => {
    setDeputy(typed);
    leave.reset();
  };
  return (
    <form
      className="menu-ask" aria-label={away.title} noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <p className="quiet">{away.hint}</p>
      <label htmlFor={`${id}-deputy`}>{away.deputyName}</label>
      <Input id={`${id}-deputy`} value={deputy} autoFocus autoComplete="off" data-testid="away-deputy" onChange={(event) => change(event.target.value)} />
      <label htmlFor={`${id}-until`}>{away.untilLabel}</label>
      <MomentInput id={`${id}-until`} onChange={setUntil} testId="away-until" />
      {isAboutUnknownNames(leave.error)
        ? (
          <UnknownNames
            error={leave.error} field="deputy" names={[name]} consequence={away.nobodyElse}
            confirmLabel={away.saveUnknown} onUse={change} onConfirm={() => save({ unknown: true })}
          />
        )
        : <Problem error={leave.error} />}
      <Button block type="primary" htmlType="submit" disabled={!name || until === undefined} loading={leave.isPending} data-testid="leave">{away.save}</Button>
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
