import { Alert } from "antd";
import type { Absence } from "../api/types";
import { useStrings } from "../strings";
import { clock } from "../widgets/time";
import { visible } from "../base/visible";
import { BackButton } from "./come-back-button";

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
