import { Button, Flex } from "antd";
import { useState } from "react";
import { useAbsences, useEndAbsence } from "../api/absences";
import type { Absence } from "../api/types";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";
import { clock } from "../widgets/time";
import { visible } from "../base/visible";

/** One absence; an administrator ends it after a confirmation. */
function AbsenceItem({ absence, isAdmin }: { absence: Absence; isAdmin: boolean }) {
  const { away, language } = useStrings();
  const end = useEndAbsence();
  const [isConfirming, setConfirming] = useState(false);
  const { person, deputy, until } = absence;
  return (
    <li data-testid="absence-of" data-person={person}>
      <div>{away.standsFor(visible(deputy), visible(person), clock(until, language))}</div>
      <Problem error={end.error} />
      {isAdmin && !isConfirming && <Button size="small" onClick={() => setConfirming(true)} data-testid="end-absence">{away.end}</Button>}
      {isConfirming && (
        <section className="confirm-stop" aria-label={away.endTitle(visible(person))}>
          <p>{away.endTitle(visible(person))}</p>
          <Flex gap="small" wrap>
            <Button type="primary" loading={end.isPending} onClick={() => end.mutate(absence)} data-testid="confirm-end-absence">{away.confirmEnd}</Button>
            <Button autoFocus onClick={() => setConfirming(false)} data-testid="keep-absence">{away.keep}</Button>
          </Flex>
        </section>
      )}
    </li>
  );
}

/** Who is away and who stands for whom, for auditors and administrators. */
export function Absences({ isAdmin, isVisible }: { isAdmin: boolean; isVisible: boolean }) {
  const { away } = useStrings();
  const { data, error } = useAbsences(isVisible);
  const absences = data?.items ?? [];
  if (!error && absences.length === 0) return null;
  return (
    <section className="pause-section" aria-label={away.all}>
      <h2>{away.all}</h2>
      <Problem error={error} />
      <ul className="pause-list">{absences.map((absence) => <AbsenceItem key={absence.person} absence={absence} isAdmin={isAdmin} />)}</ul>
    </section>
  );
}
