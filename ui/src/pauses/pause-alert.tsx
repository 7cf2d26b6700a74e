import { Alert } from "antd";
import { useSession } from "../api/session";
import type { Pause } from "../api/types";
import { useStrings, type Strings } from "../strings";
import { Link } from "../widgets/router";
import { clock } from "../widgets/time";
import { visible } from "../widgets/visible";

/** Return which agents a pause stops. */
export const pausedAgents = ({ agent }: Pause, { pauses }: Strings) => (agent ? pauses.one(visible(agent)) : pauses.all);

/** Return who paused, since when and until when. */
export function pauseFacts({ by, since, until }: Pause, { pauses, language }: Strings): string {
  return pauses.facts(visible(by), clock(since, language), until ? clock(until, language) : null);
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
              <strong>{pausedAgents(pause, strings)}</strong>{strings.pauses.colon}{visible(pause.reason)} <span className="quiet">{pauseFacts(pause, strings)}</span>
            </div>
          ))}
          <span>{strings.pauses.effect} {isAdmin && <Link to="/operations">{strings.pauses.manage}</Link>}</span>
        </div>
      )}
    />
  );
}
