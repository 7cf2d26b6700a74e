import { Alert } from "antd";
import { useSession } from "../api/session";
import type { Pause } from "../api/types";
import { actorName } from "../widgets/names";
import { useStrings } from "../strings";
import { Link } from "../base/router";
import { clock } from "../widgets/time";
import { visible } from "../base/visible";

/** Which agents a pause stops, why, who paused them, since when and until when. */
export function PauseLine({ pause: { agent, reason, by, since, until } }: { pause: Pause }) {
  const strings = useStrings();
  const { pauses, language } = strings;
  return (
    <>
      <strong>{agent ? pauses.one(visible(agent)) : pauses.all}</strong>{reason && pauses.colon}{visible(reason)}{" "}
      <span className="quiet">{pauses.facts(actorName(by, strings), clock(since, language), until ? clock(until, language) : null)}</span>
    </>
  );
}

export interface PauseAlertProps {
  pauses: Pause[];
  /** True above a list, where the alert has the full width. */
  banner?: boolean;
}

/** The pauses in force: which agents wait, who paused them and why. */
export default function PauseAlert({ pauses, banner = false }: PauseAlertProps) {
  const strings = useStrings();
  const isAdmin = useSession().data?.role === "admin";
  return (
    <Alert
      type="warning" showIcon banner={banner} className="pauses" data-testid="pauses"
      title={(
        <div className="text-lines">
          {pauses.map((pause) => (
            <div key={pause.id} data-testid="pause-alert" data-agent={pause.agent ?? ""}>
              <PauseLine pause={pause} />
            </div>
          ))}
          <span>{strings.pauses.effect} {isAdmin && <Link to="/operations">{strings.pauses.manage}</Link>}</span>
        </div>
      )}
    />
  );
}
