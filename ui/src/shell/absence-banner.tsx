import { Alert, Button } from "antd";
import { useComeBack } from "../api/absences";
import type { Absence } from "../api/types";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";
import { clock } from "../widgets/time";
import { visible } from "../base/visible";

/** End the person's absence. */
export function BackButton() {
  const { away } = useStrings();
  const comeBack = useComeBack();
  return (
    <>
      <Button size="small" loading={comeBack.isPending} onClick={() => comeBack.mutate()} data-testid="come-back">{away.back}</Button>
      <Problem error={comeBack.error} />
    </>
  );
}

/** Tell a person on every page that they are away, and let them come back. */
export default function AbsenceBanner({ absence }: { absence: Absence }) {
  const strings = useStrings();
  return (
    <Alert
      banner type="info" showIcon role="presentation" className="absence-banner" data-testid="absence" action={<BackButton />}
      title={<output>{strings.away.until(clock(absence.until, strings.language), visible(absence.deputy))}</output>}
    />
  );
}
